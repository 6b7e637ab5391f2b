/** LSP's frames: `Content-Length`, a blank line, the body in UTF-8. */

const MAX_HEADER = 8 << 10;
const MAX_BODY = 64 << 20;
const END = Buffer.from('\r\n\r\n');

/**
 * @param {object} message
 * @returns {Buffer}
 */
export function encodeFrame(message) {
  const body = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
}

/** Cuts what comes into messages. */
export class FrameDecoder {
  /** @type {Buffer[]} */
  #parts = [];
  #size = 0;
  /** Of the body that is being waited for. @type {number | undefined} */
  #length;

  /**
   * @param {Buffer} chunk
   * @returns {import('./types.js').Json[]} messages that are whole now
   * @throws {Error} the stream is lost: no frame, or too large a one
   */
  push(chunk) {
    this.#parts.push(chunk);
    this.#size += chunk.length;
    const messages = [];
    for (let body = this.#next(); body !== undefined; body = this.#next()) {
      messages.push(JSON.parse(body));
    }
    return messages;
  }

  /** @returns {string | undefined} the next body, if it is whole */
  #next() {
    if (this.#length === undefined) {
      const data = this.#joined();
      const end = data.indexOf(END);
      if (end < 0) {
        if (data.length > MAX_HEADER) {
          throw new Error('a header that does not end');
        }
        return undefined;
      }
      this.#length = lengthOf(data.toString('latin1', 0, end));
      this.#keep(data.subarray(end + END.length));
    }
    // Parts are joined once a body is whole, not with every chunk of it.
    if (this.#size < this.#length) {
      return undefined;
    }
    const data = this.#joined();
    const body = data.toString('utf8', 0, this.#length);
    this.#keep(data.subarray(this.#length));
    this.#length = undefined;
    return body;
  }

  #joined() {
    const data = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts = [/** @type {Buffer} */ (data)];
    return /** @type {Buffer} */ (data);
  }

  /** @param {Buffer} rest */
  #keep(rest) {
    this.#parts = [rest];
    this.#size = rest.length;
  }
}

/** @param {string} header */
function lengthOf(header) {
  const found = /^content-length: *(\d+) *$/im.exec(header);
  const length = found ? Number(found[1]) : Number.NaN;
  if (!(length <= MAX_BODY)) {
    throw new Error('a header without a length, or too large a body');
  }
  return length;
}
