// The names of chirrup.v1, once for the widget and the console. A test holds them equal to the
// gateway's.

export const PATH = '/api/v1/ws';
export const SUBPROTOCOL = 'chirrup.v1';

/**
 * Each name stands for itself, so that a misspelt one is found by a reader and not by a visitor.
 * @param {string} list
 * @returns {Record<string, string>}
 */
const names = (list) => Object.fromEntries(list.split(/\s+/).map((name) => [name, name]));

/** Frames a client sends. */
export const Command = names(`hello authenticate subscribe unsubscribe send history read delivered
  typing watch viewing available pong`);

/** Frames the gateway sends. */
export const Event = names(`welcome subscribed message live more ack ok error mark typing presence
  session inbox resync unsubscribed token_expiring queue drain ping`);

/** Kinds of entries. A note reaches a visitor as `hidden`, so that seq has no hole. */
export const Kind = names(`text note card event hidden buttons carousel`);

/** Error codes, and `disconnected`, which is ours: the connection went before the answer came. */
export const Fault = names(`bad_frame unknown_type not_subscribed unauthenticated forbidden
  no_such_session session_closed token_expired id_conflict too_large rejected rate_limited
  unavailable internal disconnected`);

/** Close codes. Only the hundred decides what a client does, so a new code needs no new client. */
export const Close = {
  drain: 4000, rebalance: 4001, administrator: 4003,
  slow: 4101, silent: 4102, abuse: 4103, overloaded: 4104, hole: 4190,
  hello: 4201, expired: 4202, invalid: 4203, revoked: 4204,
  version: 4301, banned: 4302, origin: 4303, disabled: 4304, password: 4305,
};
