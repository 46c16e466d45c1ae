// A live trace of a connection: what the client and the gateway send each other, without any text.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';

const SHOWN_MAX = 200; // lines; the oldest go first
const PAUSE = 500; // ms between two readings

/** @type {Record<TraceLine['kind'], string>} */
const KINDS = { received: t('Client'), sent: t('Gateway'), opened: t('Opened'), ended: t('Ended') };

/** @param {TraceLine} line */
function words({ frame, bytes, deflated, type, seq, code, reason }) {
  const count = bytes.toLocaleString(locale);
  const size = frame && (deflated ? t('{}\u00a0bytes, compressed', count) : t('{}\u00a0bytes', count));
  return [type ?? frame, size, seq !== null && `seq ${seq}`, code, reason].filter(Boolean).join(' · ');
}

/** @param {TraceLine} line */
const row = (line) => el('li', { 'data-kind': line.kind },
  el('time.num', { datetime: line.at }, new Date(line.at).toLocaleTimeString(locale)),
  el('b', {}, KINDS[line.kind]), el('span', {}, words(line)));

/**
 * The button that starts and ends a trace, and its lines. It ends by itself when it is no longer on
 * the page.
 * @param {Rest} rest
 * @param {string} connection
 */
export function traced(rest, connection) {
  const lines = el('ol');
  const box = el('div.trace', { role: 'log', tabindex: 0, 'aria-label': t('Trace'), hidden: true },
    lines);
  const said = el('p.hint', { role: 'status' },
    t('A trace shows frames without their text, for 10 minutes. The audit log has an entry.'));
  const button = el('button.button', { type: 'button' }, t('Trace|verb'));
  let isWanted = false;

  /** @param {`connection-traces/${string}`} path */
  async function follow(path) {
    let after = 0;
    while (isWanted && lines.isConnected) {
      const { lines: more, position, ended, dropped } = await rest.get(path, { after });
      after = position;
      lines.append(...more.map(row));
      while (lines.childElementCount > SHOWN_MAX) lines.firstElementChild?.remove();
      box.scrollTop = box.scrollHeight;
      if (dropped) said.textContent = t('{} lines were dropped.', dropped.toLocaleString(locale));
      if (ended) return ended;
      await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    }
    await rest.remove(path);
    return t('it was ended');
  }

  button.onclick = async () => {
    isWanted = !isWanted;
    if (!isWanted) return;
    button.textContent = t('End trace');
    box.hidden = false;
    lines.replaceChildren();
    said.textContent = t('The trace runs.');
    try {
      const { trace } = await rest.post(`connections/${connection}/trace`);
      said.textContent = t('The trace has ended: {}.', await follow(`connection-traces/${trace.id}`));
    } catch (error) { said.textContent = sentence(error); }
    isWanted = false;
    button.textContent = t('Trace|verb');
  };
  return el('div.field', {}, el('div', {}, button), said, box);
}
