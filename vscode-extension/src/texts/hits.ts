/** Where in a row's label stands what was searched for. */

/** From, up to and without; in UTF-16 code units. */
export type Stretch = [number, number];

/** The words and phrases of a query. */
export function wordsOf(query: string): string[] {
  const found = query.matchAll(/"([^"]*)"?|(\S+)/g);
  return [...found].map((one) => folded((one[1] ?? one[2] ?? '').trim())).filter(Boolean);
}

/** The stretches of a label that say one of the words, in order and apart from each other. */
export function stretchesOf(label: string, words: readonly string[]): Stretch[] {
  const text = folded(label);
  const found: Stretch[] = [];
  for (const word of words) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      found.push([at, at + word.length]);
    }
  }
  return joined(found.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
}

/** Without case and accents, unit by unit, so that places stay what they are. */
function folded(text: string): string {
  let all = '';
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    const plain = unit.normalize('NFD').charAt(0).toLowerCase();
    all += plain.length === 1 ? plain : unit;
  }
  return all;
}

function joined(sorted: readonly Stretch[]): Stretch[] {
  const apart: Stretch[] = [];
  for (const [from, to] of sorted) {
    const last = apart.at(-1);
    if (last && from <= last[1]) {
      last[1] = Math.max(last[1], to);
    } else {
      apart.push([from, to]);
    }
  }
  return apart;
}
