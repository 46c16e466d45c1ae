// What stands in the log beside the messages: the greeting, who types, the place in the queue.

import { el } from '../../shared/dom.js';
import { face } from '../../shared/thread.js';
import { language, say } from '../words.js';
import { swift } from './panel.js';
import { dots } from './status.js';

/** @param {{title: string, text: string}} greeting */
export const lead = ({ title, text }) => el(
  'div.lead',
  { dir: 'auto' },
  swift(),
  el('h3', {}, title),
  el('p', {}, text),
);

/** @param {{who: Person}} typist */
export const writer = ({ who }) => el(
  'div.say.in.first.last',
  {},
  face(who),
  el('p.bubble.typing', {}, dots(), el('span.sr-only', {}, say('typing', who.name))),
);

/** @param {{position: number, wait_ms?: number | null}} place */
export function queue({ position, wait_ms }) {
  const minutes = (Math.ceil((wait_ms ?? 0) / 60_000) || 1).toLocaleString(
    language,
    { style: 'unit', unit: 'minute', unitDisplay: 'long' },
  );
  return el(
    'div.queue',
    {},
    el('strong', {}, `${position}`),
    el('b', {}, say('place')),
    el('p', {}, wait_ms != null && `${say('wait_about', minutes)} `, say('go_on')),
  );
}
