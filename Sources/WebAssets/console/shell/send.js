// Messages for a conversation that is not open any more.

import { Event, Fault } from '../../shared/protocol.js';
import { api, Problem, statusOf } from './api.js';

/**
 * Sends a message by REST, with the answer in the form of the socket's.
 * @param {string} session
 * @param {import('../../shared/outbox.js').Item} item
 * @returns {Promise<AckFrame | ErrorFrame>}
 */
export async function send(session, { id, kind, body }) {
  try {
    return { type: Event.ack, session, ...await api.send(session, { id, kind, body }) };
  } catch (failure) {
    const code = failure instanceof Problem ? failure.code : undefined;
    // 401 concerns the operator, not the message
    const retry = !code || statusOf(failure) === 401;
    return { type: Event.error, code: code ?? Fault.unavailable, retry };
  }
}
