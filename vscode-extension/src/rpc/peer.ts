/** One connection over two streams: typed requests, notices, and what the daemon asks. */

import type { Readable, Writable } from 'node:stream';
import {
  CancellationTokenSource,
  createMessageConnection,
  ParameterStructures,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  type CancellationToken,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import { asFailure, Failure } from './failure';
import type { Asked, Notices, Requests, Told } from './protocol';

export type Method = keyof Requests;
export type Params<M extends Method> = Requests[M]['params'];
export type Result<M extends Method> = Requests[M]['result'];

/** Something the daemon tells, with its name. */
export type Message = { [K in keyof Told]: { method: K; params: Told[K] } }[keyof Told];

export type Answers = {
  [K in keyof Asked]?: (
    params: Asked[K]['params'],
    /** Fires when the answer is not wanted any more, and when the connection ends. */
    signal: AbortSignal,
  ) => Promise<Asked[K]['result']>;
};

type Answer = (params: unknown, signal: AbortSignal) => Promise<unknown>;

const METHOD_NOT_FOUND = -32601;
const REQUEST_FAILED = -32803;

export interface PeerListener {
  told(message: Message): void;
  /** The streams have ended, or cannot be understood any more; told once. */
  closed(): void;
}

export class Peer {
  private readonly connection: MessageConnection;
  private isClosed = false;
  /** What ends each answer that is being made. */
  private readonly answering = new Set<AbortController>();

  constructor(
    input: Readable,
    output: Writable,
    private readonly listener: PeerListener,
    answers: Answers = {},
  ) {
    this.connection = createMessageConnection(
      new StreamMessageReader(input),
      new StreamMessageWriter(output),
    );
    this.connection.onNotification((method, params) => {
      this.listener.told({ method, params } as Message);
    });
    this.connection.onRequest((method, params, token) => {
      const answer = answers[method as keyof Asked] as Answer | undefined;
      return answer
        ? this.answer(answer, params, token)
        : new ResponseError(METHOD_NOT_FOUND, 'It is not answered here.');
    });
    this.connection.onError(() => this.close());
    this.connection.onClose(() => this.close());
    this.connection.listen();
  }

  /**
   * What the daemon answers.
   * @throws {Failure} its refusal; `Offline` when the connection ended first, `Cancelled` when
   *   `signal` ended it.
   */
  async request<M extends Method>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
  ): Promise<Result<M>> {
    if (this.isClosed) {
      throw lost();
    }
    const source = new CancellationTokenSource();
    const cancel = () => source.cancel();
    if (signal?.aborted) {
      throw new Failure('Cancelled', 'It was cancelled; nothing was changed.');
    }
    signal?.addEventListener('abort', cancel);
    try {
      return await this.connection.sendRequest<Result<M>>(
        method,
        ParameterStructures.byName,
        params,
        source.token,
      );
    } catch (error) {
      throw this.isEnded() ? lost() : asFailure(error);
    } finally {
      signal?.removeEventListener('abort', cancel);
      source.dispose();
    }
  }

  notify<N extends keyof Notices>(method: N, params: Notices[N]): void {
    if (!this.isClosed) {
      this.connection.sendNotification(method, ParameterStructures.byName, params).catch(() => {
        this.close();
      });
    }
  }

  private async answer(
    answer: Answer,
    params: unknown,
    token: CancellationToken,
  ): Promise<unknown> {
    const abort = new AbortController();
    const listening = token.onCancellationRequested(() => abort.abort());
    this.answering.add(abort);
    try {
      return await answer(params, abort.signal);
    } catch (error) {
      return new ResponseError(REQUEST_FAILED, asFailure(error).message);
    } finally {
      this.answering.delete(abort);
      listening.dispose();
    }
  }

  /** Whatever was asked and not answered fails with `Offline`. */
  close(): void {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    this.answering.forEach((abort) => abort.abort());
    this.connection.dispose();
    this.listener.closed();
  }

  private isEnded(): boolean {
    return this.isClosed;
  }
}

function lost(): Failure {
  return new Failure('Offline', 'The connection to pisessiond was lost.');
}
