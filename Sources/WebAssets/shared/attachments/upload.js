// One upload: parts of a file go to the gateway one after the other, each where the one before has
// ended. The gateway's answer says how far it is, so an upload goes on after anything.

import { backoff } from '../backoff.js';
import { uuid } from '../uuid.js';

const GONE = 'no_such_attachment';
const CHECKS_MAX = 5; // repeats of the last part, if the gateway has all and has stored none
const PAUSE = 3000; // ms, if the gateway names no time
const AGAIN_MAX = 3; // beginnings of one upload that the gateway does not know any more

/**
 * The answer of a request: `code` is the end of the problem's type, `again` the ms after which a
 * retry may help; without it the refusal is final.
 * @typedef {{ok: boolean, body: AttachmentState & Record<string, unknown>, code: string,
 *   again?: number}} Reply
 */
/**
 * Requests below the conversation of a parcel. Rejects if the gateway does not answer.
 * @typedef {(method: string, path: string, body?: object | Blob, signal?: AbortSignal)
 *   => Promise<Reply>} Request
 */

/**
 * The answer in the form that uploads use.
 * @param {Response} response
 * @returns {Promise<Reply>}
 */
export async function replyOf(response) {
  const { ok, status, headers } = response;
  const body = await response.json().catch(() => ({}));
  const code = `${body?.type ?? ''}`.split(':').pop() ?? '';
  const isTransient = status >= 500 || [401, 408, 429].includes(status) || code === 'upload_busy';
  const after = Number(headers.get('retry-after')) * 1000 || PAUSE;
  return { ok, body, code, again: isTransient ? after : undefined };
}

/** A refusal that no retry changes. */
export class Refused extends Error {
  /** @param {string} code @param {string=} file the id of the attachment */
  constructor(code, file) {
    super(code);
    this.code = code;
    this.file = file;
  }
}

/**
 * Until the time is over, or the network is back.
 * @param {number} ms
 * @param {AbortSignal} signal
 */
export const pause = (ms, signal) => new Promise((done, fail) => {
  const timer = setTimeout(end, ms, undefined);
  function end() {
    clearTimeout(timer);
    removeEventListener('online', end);
    if (signal.aborted) fail(signal.reason); else done(undefined);
  }
  addEventListener('online', end);
  signal.addEventListener('abort', end);
});

/**
 * A request that is repeated until the gateway answers it for good.
 * @param {Request} request
 * @param {{signal: AbortSignal, waits: (isWaiting: boolean) => void}} on `waits` is called when the
 *   gateway cannot be reached, and when it can be again
 * @param {[method: string, path: string, body?: object | Blob]} what
 * @returns {Promise<Reply>}
 */
export async function persist(request, { signal, waits }, ...what) {
  for (let attempt = 0; ; attempt++) {
    try {
      const reply = await request(...what, signal);
      waits(false);
      if (reply.again === undefined) return reply;
      await pause(Math.max(reply.again, 500), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      waits(true);
      await pause(1000 + backoff(Math.min(attempt, 5)), signal);
    }
  }
}

/**
 * Sends a file and returns what the gateway has stored.
 * @param {import('./shelf.js').ParcelFile} file
 * @param {Request} request
 * @param {{signal: AbortSignal, waits: (isWaiting: boolean) => void,
 *   progress: (received: number) => void}} on
 * @returns {Promise<AttachmentFile>}
 */
export async function upload(file, request, on) {
  const { name, bytes, type, alt } = file;
  let checks = 0;
  for (let beginnings = 0; beginnings < AGAIN_MAX; beginnings++) {
    const { id } = file;
    const begin = { id, name, bytes, ...(type && { type }), ...(alt && { alt }) };
    const reply = await persist(request, on, 'POST', 'attachments', begin);
    if (!reply.ok && reply.code !== GONE) throw new Refused(reply.code, id);
    let state = reply.ok ? reply.body : null;
    while (state && state.state !== 'stored') {
      on.progress(state.received);
      const part = reply.body.part_bytes;
      // the last part again, if the gateway was interrupted while it checked the file
      const isWhole = state.received >= bytes;
      if (isWhole && ++checks > CHECKS_MAX) throw new Refused('unavailable', id);
      const from = isWhole ? Math.floor((bytes - 1) / part) * part : state.received;
      const answer = await persist(
        request, on, 'PUT', `attachments/${id}/parts/${from}`, file.blob.slice(from, from + part),
      );
      if (answer.ok) state = answer.body;
      else if (answer.code === 'wrong_offset') state = { ...state, received: answer.body.received };
      else if (answer.code === GONE) state = null;
      else throw new Refused(answer.code, id);
    }
    if (state) {
      on.progress(bytes);
      return state;
    }
    file.id = uuid(); // the gateway removes an upload that rests for a day
  }
  throw new Refused(GONE, file.id);
}
