// The names of chirrup.v1, once for the widget and the console. A test holds them equal to the gateway's.

export const PATH = '/api/v1/ws';
export const SUBPROTOCOL = 'chirrup.v1';

/** Frames a client sends. */
export const Ask = Object.freeze({
  hello: 'hello', authenticate: 'authenticate', subscribe: 'subscribe', unsubscribe: 'unsubscribe',
  send: 'send', history: 'history', read: 'read', delivered: 'delivered', typing: 'typing',
  watch: 'watch', pong: 'pong',
});

/** Frames the gateway sends. `typing` has one name in both directions. */
export const Tell = Object.freeze({
  welcome: 'welcome', subscribed: 'subscribed', message: 'message', live: 'live', more: 'more',
  ack: 'ack', ok: 'ok', error: 'error', mark: 'mark', typing: 'typing', presence: 'presence',
  session: 'session', inbox: 'inbox', resync: 'resync', unsubscribed: 'unsubscribed',
  tokenExpiring: 'token_expiring', drain: 'drain', ping: 'ping',
});

/** Kinds of entries. A note reaches a visitor as `hidden`, so that seq has no hole. */
export const Kind = Object.freeze({
  text: 'text', note: 'note', card: 'card', event: 'event', hidden: 'hidden',
});

export const Fault = Object.freeze({
  badFrame: 'bad_frame', unknownType: 'unknown_type', notSubscribed: 'not_subscribed',
  unauthenticated: 'unauthenticated', forbidden: 'forbidden', noSuchSession: 'no_such_session',
  sessionClosed: 'session_closed', tokenExpired: 'token_expired', idConflict: 'id_conflict',
  tooLarge: 'too_large', rejected: 'rejected', rateLimited: 'rate_limited',
  unavailable: 'unavailable', internal: 'internal',
  /** Ours: the connection went away before the answer came. */
  disconnected: 'disconnected',
});

/** Close codes. Only the hundred decides what a client does, so a new code needs no new client. */
export const Close = Object.freeze({
  drain: 4000, rebalance: 4001, byAdministrator: 4003,
  tooSlow: 4101, noPong: 4102, rateAbuse: 4103, overloaded: 4104, holeSeen: 4190,
  helloTimeout: 4201, tokenExpired: 4202, invalidToken: 4203, tokenRevoked: 4204,
  version: 4301, banned: 4302, origin: 4303, disabled: 4304,
});
