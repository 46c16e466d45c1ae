// The names of chirrup.v1, for widget and console. AssetTests.swift compares them with those of the
// gateway.

export const PATH = '/api/v1/ws';
export const SUBPROTOCOL = 'chirrup.v1';

/**
 * An object in which each name is its own value. The lists of names are types: the type check finds
 * a misspelt name, and no page loads the lists.
 */
const each = new Proxy({}, { get: (_, name) => name });

/** Frames that a client sends. */
export const Command = /** @type {Names<`hello authenticate subscribe unsubscribe send history read
  delivered typing watch viewing available pong`>} */ (each);

/** Frames that the gateway sends. */
export const Event = /** @type {Names<`welcome subscribed message live more ack ok error mark typing
  presence session inbox resync unsubscribed token_expiring queue drain ping`>} */ (each);

/** Kinds of entries. A visitor receives a note as `hidden`, so that seq has no hole. */
export const Kind = /** @type {Names<`text note card event hidden buttons
  carousel file`>} */ (each);

/** Error codes, and our own `disconnected`: the connection closed before the answer arrived. */
export const Fault = /** @type {Names<`bad_frame unknown_type not_subscribed unauthenticated
  forbidden no_such_session session_closed token_expired id_conflict too_large rejected rate_limited
  unavailable internal disconnected`>} */ (each);

/** Close codes that a client sends or treats apart. Of all others only the hundred counts. */
export const Close = { silent: 4102, hole: 4190, invalid: 4203 };
