// The names of chirrup.v1, for widget and console. AssetTests.swift compares them with those of the
// gateway.

export const PATH = '/api/v1/ws';
export const SUBPROTOCOL = 'chirrup.v1';

/**
 * An object in which each name is its own value, so that the type check finds a misspelt name.
 * @template {string} List
 * @param {List} list names with white space between them
 * @returns {{readonly [Name in Words<List>]: Name}}
 */
const names = (list) => /** @type {{readonly [Name in Words<List>]: Name}} */ (
  Object.fromEntries(list.split(/\s+/).map((name) => [name, name]))
);

/** Frames that a client sends. */
export const Command = names(`hello authenticate subscribe unsubscribe send history read delivered
  typing watch viewing available pong`);

/** Frames that the gateway sends. */
export const Event = names(`welcome subscribed message live more ack ok error mark typing presence
  session inbox resync unsubscribed token_expiring queue drain ping`);

/** Kinds of entries. A visitor receives a note as `hidden`, so that seq has no hole. */
export const Kind = names(`text note card event hidden buttons carousel`);

/** Error codes, and our own `disconnected`: the connection closed before the answer arrived. */
export const Fault = names(`bad_frame unknown_type not_subscribed unauthenticated forbidden
  no_such_session session_closed token_expired id_conflict too_large rejected rate_limited
  unavailable internal disconnected`);

/** Close codes. Only the hundred decides what a client does, so it need not know every code. */
export const Close = {
  drain: 4000, rebalance: 4001, administrator: 4003,
  slow: 4101, silent: 4102, abuse: 4103, overloaded: 4104, hole: 4190,
  hello: 4201, expired: 4202, invalid: 4203, revoked: 4204,
  version: 4301, banned: 4302, origin: 4303, disabled: 4304, password: 4305,
};
