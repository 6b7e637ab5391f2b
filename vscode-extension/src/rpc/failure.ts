/** What a request comes to when it fails. */

import type { ErrorKind, JsonObject } from './protocol';

/** `Offline`: there is no daemon to ask. `NotInstalled`: there is no program to start. */
export type FailureKind = ErrorKind | 'Offline' | 'NotInstalled';

/** A refusal of the daemon, or that it could not be asked; the message is one sentence. */
export class Failure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly data: JsonObject = {},
  ) {
    super(message);
    this.name = 'Failure';
  }
}

/** Any error as a failure. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) {
    return error;
  }
  const { message, data } = error as { message?: unknown; data?: unknown };
  const members = typeof data === 'object' && data !== null ? (data as JsonObject) : {};
  const kind = typeof members.kind === 'string' ? (members.kind as ErrorKind) : 'InternalError';
  return new Failure(kind, typeof message === 'string' ? message : 'The request failed.', members);
}
