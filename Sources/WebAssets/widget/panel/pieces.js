// The parts of the log that are not messages: greeting, typing indicator, place in the queue.

import { el } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { language, say } from '../words.js';
import { swift } from './panel.js';
import { dots } from './status.js';

/** @param {Greeting} greeting */
export const lead = ({ title, text }) => el(
  'div.lead',
  { dir: 'auto' },
  swift(),
  el('h3', {}, title),
  el('p', {}, text),
);

/** @param {{who: Person}} model */
export const writer = ({ who }) => el(
  'div.say.in.first.last',
  {},
  face(who),
  el('p.bubble.typing', {}, dots(), el('span.sr-only', {}, say('typing', who.name))),
);

/** @param {number} ms are rounded up, at least to one minute */
export const minutes = (ms) => Math.max(1, Math.ceil(ms / 60_000)).toLocaleString(
  language,
  { style: 'unit', unit: 'minute', unitDisplay: 'long' },
);

/** @param {QueuePlace} place */
export function queue({ position, wait_ms }) {
  return el(
    'div.queue',
    {},
    el('strong', {}, `${position}`),
    el('b', {}, say('place')),
    el('p', {}, wait_ms != null && `${say('wait_about', minutes(wait_ms))} `, say('go_on')),
  );
}
