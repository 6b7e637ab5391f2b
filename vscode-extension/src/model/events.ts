/** What happens, told to whoever listens. */

export type Unlisten = () => void;

/** One kind of event; listeners are called in the order they came. */
export class Emitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  /** Calls `listener` from now on, until what comes back is called. */
  on(listener: (value: T) => void): Unlisten {
    // A function of its own, so that one that listens twice is two listeners.
    const own = (value: T) => listener(value);
    this.listeners.add(own);
    return () => {
      this.listeners.delete(own);
    };
  }

  /** Whoever is told may begin or cease to listen. */
  emit(value: T): void {
    for (const listener of [...this.listeners]) {
      if (this.listeners.has(listener)) {
        listener(value);
      }
    }
  }
}
