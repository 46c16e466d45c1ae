// REST requests about conversations and the login. Requests carry the HttpOnly cookie; the token
// that a login answers with is for the socket only.

import { store } from '../../shared/store.js';
import { problemText } from './language.js';

const ADMIN = '/api/v1/admin';
const LIST = `${ADMIN}/live-chat/conversations`;
const FACTOR = '/api/v1/auth/second-factor';
const PAGES_MAX = 10; // of a list that is shown whole
const KNOWN = 'chirrup:console:known'; // whether this browser may have the cookie of a login

/**
 * RFC 9457. `winner` is the operator who claimed the conversation first. `pointer` is the JSON
 * Pointer of the wrong member of the body; `reason` is the sentence about it without its subject.
 * @typedef {{type?: string, title?: string, detail?: string, winner?: Named, pointer?: string,
 *   reason?: string}} ProblemDocument
 */

/**
 * The sentence of a problem document, in the operator's language if that has one for its type.
 * @param {ProblemDocument | null | undefined} body
 */
export const wordsOf = (body) => (
  problemText(body?.type?.split(':').at(-1) ?? '') || body?.detail || body?.title || '');

/** An answer other than 2xx, with its problem document. */
export class Problem extends Error {
  /**
   * The field of a form that it is about, if the page knows better than the document.
   * @type {string=}
   */
  path;

  /**
   * @param {number} status
   * @param {ProblemDocument?} body
   */
  constructor(status, body) {
    super(wordsOf(body) || `HTTP ${status}`);
    this.status = status;
    /** The stable name of the problem; undefined if a retry may help. */
    this.code = status < 500 && status !== 429 ? body?.type?.split(':').at(-1) : undefined;
    this.body = body ?? {};
    /** Whether `Link` stops, because a retry is of no use. */
    this.final = status === 401 || status === 403;
  }
}

/**
 * The HTTP status of a refusal, 0 if the gateway did not answer.
 * @param {unknown} error
 */
export const statusOf = (error) => (error instanceof Problem ? error.status : 0);

/**
 * The text of a refusal, or `silence` if the gateway did not answer.
 * @param {unknown} error
 * @param {string} silence
 */
export const reasonOf = (error, silence) => (error instanceof Problem ? error.message : silence);

/**
 * @param {string} method
 * @param {string} path
 * @param {object=} body
 * @param {string=} key the Idempotency-Key
 */
async function call(method, path, body, key) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (body) headers['content-type'] = 'application/json';
  if (key) headers['idempotency-key'] = key;
  const response = await fetch(path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) })
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(response.status, answer);
  return answer;
}

/**
 * A path with its query, without the parameters that are null.
 * @param {string} path
 * @param {Query=} query
 */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value != null);
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  return given.length ? `${path}?${text}` : path;
}

/**
 * @param {string} path
 * @param {Query=} query
 */
const get = (path, query) => call('GET', address(path, query));

/**
 * The first pages of a list, by its name in the answer.
 * @template Item
 * @param {string} path
 * @param {string} name
 * @returns {Promise<Item[]>}
 */
async function whole(path, name) {
  /** @type {Item[]} */
  const rows = [];
  /** @type {string?} */
  let cursor = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    /** @type {Record<string, Item[]> & {next_cursor: string?}} */
    const answer = await get(path, { cursor });
    rows.push(...answer[name]);
    cursor = answer.next_cursor;
    if (!cursor) break;
  }
  return rows;
}

/**
 * A token of a visitor, as the widget gets it.
 * @param {{workspace: string, refresh?: string, context: object}} body
 * @returns {Promise<{token: string, refresh: string, session: string}>}
 */
export const visitorToken = (body) => call('POST', '/api/v1/widget/token', body);

/** @typedef {{id: string, kind: string, body: string}} NewMessage */
/**
 * An operator, or a team, of which null is none; without both the queue.
 * @typedef {{to?: string, to_team?: string?}} Receiver
 */
/** @typedef {Promise<{conversation: ConversationRow}>} Changed the conversation afterwards */

export const api = {
  get known() { return store.get(KNOWN) === true; },
  /** @param {boolean} yes */
  know(yes) { store.set(KNOWN, yes); },
  /** @type {(email: string, password: string) => Promise<Login | LoginChallenge>} */
  login: (email, password) => call('POST', '/api/v1/auth/login', { email, password }),
  /** @type {(owner: {code: string, name: string, email: string, password: string,
   *   workspace: string}) => Promise<Login>} */
  setUp: (owner) => call('POST', '/api/v1/auth/setup', owner),
  /** @type {(challenge: string, code: string) => Promise<Login>} */
  code: (challenge, code) => call('POST', '/api/v1/auth/login/code', { challenge, code }),
  /** @type {(login?: string) => Promise<PasskeyOptions>} */
  passkeyOptions: (login) => call('POST', '/api/v1/auth/login/passkey/options', { login }),
  /** @type {(challenge: string, credential: object, login?: string) => Promise<Login>} */
  passkey: (challenge, credential, login) => call('POST', '/api/v1/auth/login/passkey',
    { challenge, credential, login }),
  /** @type {(workspace: string) => Promise<{label: string, password_login: boolean}>} */
  provider: (workspace) => get('/api/v1/auth/provider', { workspace }),
  /** @type {(workspace: string) => Promise<{url: string}>} */
  beginProvider: (workspace) => call('POST', '/api/v1/auth/provider/begin', { workspace }),
  /** @type {(email: string) => Promise<unknown>} */
  forgotten: (email) => call('POST', '/api/v1/auth/password-reset', { email }),
  /** @type {(answer: ProviderAnswer) => Promise<Login | LoginChallenge>} */
  finishProvider: (answer) => call('POST', '/api/v1/auth/provider/finish', answer),
  /** @type {() => Promise<Login>} */
  token: () => call('POST', '/api/v1/auth/token'),
  /** @type {(current: string, fresh: string) => Promise<unknown>} */
  password: (current, fresh) => call('POST', '/api/v1/auth/password', { current, new: fresh }),
  /** @type {() => Promise<SecondFactor>} */
  secondFactor: () => get(FACTOR),
  /** @type {(current: string | undefined) => Promise<{secret: string, uri: string}>} */
  beginApp: (current) => call('POST', `${FACTOR}/app`, { current }),
  /** @type {(code: string) => Promise<{recovery_codes: string[]}>} */
  confirmApp: (code) => call('POST', `${FACTOR}/app/confirm`, { code }),
  /** @type {(current: string | undefined) => Promise<{recovery_codes: string[]}>} */
  newRecoveryCodes: (current) => call('POST', `${FACTOR}/recovery-codes`, { current }),
  /** @type {(current: string | undefined, code: string) => Promise<unknown>} */
  removeSecondFactor: (current, code) => call('POST', `${FACTOR}/remove`, { current, code }),
  /** @type {(current: string | undefined) => Promise<PasskeyOptions>} */
  beginPasskey: (current) => call('POST', `${FACTOR}/passkeys`, { current }),
  /** @type {(challenge: string, name: string, credential: object) => Promise<NewPasskey>} */
  confirmPasskey: (challenge, name, credential) => call('POST', `${FACTOR}/passkeys/confirm`,
    { challenge, name, credential }),
  /** @type {(id: string, current: string | undefined) => Promise<unknown>} */
  removePasskey: (id, current) => call('POST', `${FACTOR}/passkeys/${id}/remove`, { current }),
  /** @type {() => Promise<unknown>} */
  logout: () => call('POST', '/api/v1/auth/logout'),
  /** @type {(query: Query) => Promise<ConversationPage>} */
  list: (query) => get(LIST, query),
  /** @type {(id: string) => Promise<{conversation: ConversationDetail}>} */
  one: (id) => get(`${LIST}/${id}`),
  /** @type {(id: string, query: Query) => Promise<MessagePage>} */
  messages: (id, query) => get(`${LIST}/${id}/messages`, query),
  /** @type {(id: string) => Promise<ChannelDeliveries>} */
  deliveries: (id) => get(`${LIST}/${id}/deliveries`),
  /** @type {(id: string, message: string) => Promise<unknown>} */
  sendAgain: (id, message) => call('POST', `${LIST}/${id}/deliveries/${message}/send-again`, {}),
  /** @type {(id: string) => Promise<ConversationMail>} */
  mail: (id) => get(`${LIST}/${id}/mail`),
  /** @type {(id: string) => Promise<unknown>} */
  sendMailAgain: (id) => call('POST', `${LIST}/${id}/mail/send-again`, {}),
  /** @type {(query: Query) => Promise<HitPage>} */
  search: (query) => get(`${ADMIN}/live-chat/messages/search`, query),
  /** @type {(id: string, message: NewMessage) => Promise<{id: string, seq: number, at: string}>} */
  send: (id, message) => call('POST', `${LIST}/${id}/messages`, message),
  /** @type {(id: string) => Changed} */
  claim: (id) => call('POST', `${LIST}/${id}/claim`),
  /** @type {() => Changed} */
  next: () => call('POST', `${ADMIN}/live-chat/next`),
  /** @type {(id: string, to: Receiver, reason: string) => Changed} */
  transfer: (id, to, reason) => call(
    'POST',
    `${LIST}/${id}/transfer`,
    { ...to, ...(reason && { reason }) },
  ),
  /** @type {(id: string, reason: string) => Changed} */
  close: (id, reason) => call('POST', `${LIST}/${id}/close`, reason ? { reason } : undefined),
  /** @type {(id: string) => Changed} */
  reopen: (id) => call('POST', `${LIST}/${id}/reopen`),
  /** @type {(id: string, tags: string[]) => Promise<{conversation?: ConversationRow} | null>} */
  setTags: (id, tags) => call('PUT', `${LIST}/${id}/tags`, { tags }),
  /** @type {(id: string, title: string) => Changed} */
  retitle: (id, title) => call('PATCH', `${LIST}/${id}`, { title: title || null }),
  /** @type {(id: string) => Promise<unknown>} */
  remove: (id) => call('DELETE', `${LIST}/${id}`),
  /** @type {(id: string) => Changed} */
  restore: (id) => call('POST', `${LIST}/${id}/restore`),
  /** @type {(visitor: string) => Promise<{friend_events: FriendEvent[]}>} */
  follows: (visitor) => get(`${ADMIN}/visitors/${visitor}/friend-events`, { limit: 20 }),
  /** @type {() => Promise<{uses: AssistUse[]}>} */
  uses: () => get(`${ADMIN}/live-chat/assist`),
  /** @type {() => Promise<Tag[]>} */
  tags: () => whole(`${ADMIN}/tags`, 'tags'),
  /** @type {() => Promise<Team[]>} */
  teams: () => whole(`${ADMIN}/teams`, 'teams'),
  /** @type {() => Promise<Member[]>} */
  members: () => whole(`${ADMIN}/members`, 'members'),
  /** @type {() => Promise<ReplyObject[]>} */
  replies: () => whole(`${ADMIN}/reply-objects`, 'reply_objects'),
  /** @type {(ids: string[], actions: Action[], key: string) => Promise<ActionResults>} */
  bulk: (ids, actions, key) => call('POST', `${ADMIN}/live-chat/bulk`, { ids, actions }, key),
  /** @type {() => Promise<View[]>} */
  views: () => whole(`${ADMIN}/views`, 'views'),
  /** @type {(view: object) => Promise<{view: View}>} */
  addView: (view) => call('POST', `${ADMIN}/views`, view),
  /** @type {(id: string, change: object) => Promise<{view: View}>} */
  changeView: (id, change) => call('PATCH', `${ADMIN}/views/${id}`, change),
  /** @type {(id: string) => Promise<unknown>} */
  removeView: (id) => call('DELETE', `${ADMIN}/views/${id}`),
  /** @type {() => Promise<Macro[]>} */
  macros: () => whole(`${ADMIN}/macros`, 'macros'),
  /** @type {(id: string, ids: string[], key: string) => Promise<ActionResults>} */
  runMacro: (id, ids, key) => call('POST', `${ADMIN}/macros/${id}/run`, { ids }, key),
  /** @type {(q: string, except: string) => Promise<{visitors: VisitorProfile[]}>} */
  findVisitors: (q, except) => get(`${ADMIN}/visitors`, { q, except }),
  /** @type {(id: string, visitor: string) => Promise<MergePreview>} */
  previewMerge: (id, visitor) => get(`${ADMIN}/visitors/${id}/merge`, { visitor }),
  /** @type {(id: string, visitor: string, take: string[]) => Promise<unknown>} */
  merge: (id, visitor, take) => call('POST', `${ADMIN}/visitors/${id}/merge`, { visitor, take }),
  /** @type {(id: string, yes: boolean) => Promise<unknown>} */
  block: (id, yes) => call('POST', `${ADMIN}/visitors/${id}/${yes ? 'block' : 'unblock'}`),
  /** @type {(id: string) => Promise<unknown>} */
  erase: (id) => call('DELETE', `${ADMIN}/visitors/${id}`),
};

/**
 * The address of a file with all data of a visitor.
 * @param {string} visitor
 */
export const exportAddress = (visitor) => `${ADMIN}/visitors/${visitor}/export`;
