// The operator's own settings: availability, alerts, and whether single letters are commands
// (WCAG 2.1.4).

import { el } from '../../shared/dom.js';
import { Command } from '../../shared/protocol.js';
import { face } from '../../shared/thread.js';
import { languageChoice } from './language-choice.js';
import { t } from './language.js';

/**
 * A switch.
 * @param {string} words
 * @param {string} hint
 * @param {() => boolean} isOn
 * @param {(yes: boolean) => unknown} change
 * @param {(() => void)[]} rows gets the function that updates it
 */
function toggle(words, hint, isOn, change, rows) {
  const box = el('input', {
    type: 'checkbox',
    role: 'switch',
    change: async () => { await change(box.checked); box.checked = isOn(); },
  });
  box.checked = isOn();
  rows.push(() => { box.checked = isOn(); });
  return el(
    'label.switch',
    {},
    el('span', {}, words, hint && el('span.meta', {}, hint)),
    box,
  );
}

/**
 * @typedef {(words: string, hint: string, isOn: () => boolean,
 *   change: (yes: boolean) => unknown) => HTMLElement} Row makes a switch
 */

/**
 * @param {import('./alerts.js').Alerts} alerts
 * @param {Row} row
 */
const alertRows = (alerts, row) => [
  row(
    t('Sounds'),
    t('For new visitors, and for messages you are not viewing'),
    () => alerts.sound,
    (yes) => alerts.choose('sound', yes),
  ),
  row(
    t('Desktop notifications'),
    alerts.isRefused ? t('Blocked in your browser’s settings') : t('While you use another window'),
    () => alerts.desktop,
    (yes) => alerts.choose('desktop', yes),
  ),
  row(
    t('Single-letter shortcuts'),
    t('J, K, C and others, outside text fields'),
    () => alerts.letters,
    (yes) => alerts.choose('letters', yes),
  ),
];

/**
 * @param {{me: Person, alerts: import('./alerts.js').Alerts,
 *   link: import('../../shared/socket.js').Link}} app
 * @param {string} workspace its name
 * @param {() => void} leave logs out; on a phone the rail has no room for its button
 */
export function profileMenu({ me, alerts, link }, workspace, leave) {
  let available = true;
  /** @type {(() => void)[]} */
  const rows = [];
  /** @type {Row} */
  const row = (words, hint, isOn, change) => toggle(words, hint, isOn, change, rows);
  const says = el('span.sr-only');
  const dot = el('span.dot');
  const announce = () => {
    if (link.state === 'open') link.request({ type: Command.available, available });
  };
  const render = () => {
    says.textContent = available
      ? t('{}, available. Your settings', me.name) : t('{}, unavailable. Your settings', me.name);
    dot.classList.toggle('off', !available);
  };
  const panel = el('dialog.pop.you', {
    'aria-label': t('Your settings'),
    click: (event) => { if (event.target === panel) panel.close(); },
  });
  panel.append(
    el('h3', {}, face(me), el('span', {}, me.name, el('span.meta', {}, workspace))),
    row(
      t('Available'),
      t('New conversations can be assigned to you'),
      () => available,
      (yes) => { available = yes; announce(); render(); },
    ),
    ...alertRows(alerts, row),
    languageChoice(),
    el(
      'p',
      {},
      el('button.button', { type: 'button', click: leave }, t('Log out')),
      el('button.button', { type: 'button', click: () => panel.close() }, t('Done')),
    ),
  );
  render();
  return {
    button: el(
      'button.me',
      {
        type: 'button',
        'aria-haspopup': 'dialog',
        title: `${me.name}, ${workspace}`,
        click: () => { for (const fresh of rows) fresh(); panel.showModal(); },
      },
      says,
      face(me),
      dot,
    ),
    panel,
    /** Repeats `available: false` on a new connection. */
    announce: () => { if (!available) announce(); },
  };
}
