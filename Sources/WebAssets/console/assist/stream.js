// The request for a draft, whose text comes in pieces as server-sent events (WHATWG HTML §9.2.6).

import { Problem } from '../shell/api.js';

/**
 * @typedef {{use: AssistUse, language?: string, text?: string}} Wish
 */

/**
 * Reads one event: the lines before a blank one.
 * @param {string} text
 */
function read(text) {
  let name = 'message';
  let data = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice(7);
    if (line.startsWith('data: ')) data += line.slice(6);
  }
  return { name, data };
}

/**
 * Gives each piece of the draft to `add`; returns after the last one. Throws a refusal as
 * `Problem`, also one that comes after some of the text.
 * @param {string} session
 * @param {Wish} wish
 * @param {AbortSignal} signal
 * @param {(text: string) => void} add
 */
export async function stream(session, wish, signal, add) {
  const response = await fetch(`/api/v1/admin/live-chat/conversations/${session}/assist`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(wish),
    signal,
  });
  if (!response.ok || !response.body) {
    throw new Problem(response.status, await response.json().catch(() => null));
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new TypeError('the stream ended without its last event');
    const events = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    for (const { name, data } of events.map(read)) {
      if (name === 'done') return;
      if (!data) continue;
      const answer = JSON.parse(data);
      if (name === 'problem') throw new Problem(answer.status, answer);
      add(answer.text);
    }
  }
}
