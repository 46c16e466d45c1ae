// The devices on which the operator is logged in. A session that is ended here is over when the
// gateway answers: its token opens nothing, and its connections are closed.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { ago, moment } from './times.js';

const PATH = '/api/v1/auth/sessions';
const ACTIVE = 90_000; // ms since the last request: times are stored once a minute

/** @param {LoginSession} session */
function facts({ address, workspace, created_at: from, last_seen_at: seen, current }) {
  const isActive = current || Date.now() - Date.parse(seen) < ACTIVE;
  return [
    address,
    workspace,
    t('logged in {}', moment(from)),
    isActive ? t('active now') : t('last seen {}', ago(seen)),
  ].filter(Boolean).join(' · ');
}

/** @param {import('./pane.js').SettingsContext} context */
export function loginList(context) {
  const trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  const said = el('p.sr-only', { role: 'status' });
  const rows = el('ul.devices');
  const others = el('button.button.danger', { type: 'button', hidden: true }, t('End all other sessions'));
  const heading = el('h2', { id: 'logins', tabindex: -1 }, t('Logged-in devices'));

  /**
   * @param {() => Promise<string | void>} work returns what a screen reader is to say
   * @param {HTMLButtonElement=} button
   */
  async function attempt(work, button) {
    trouble.hidden = true;
    if (button) button.disabled = true;
    try {
      said.textContent = await work() ?? '';
    } catch (error) {
      trouble.hidden = false;
      trouble.replaceChildren(icon('alert', 'small'), sentence(error));
    }
    if (button) button.disabled = false;
  }

  /** @param {LoginSession} session */
  function draw(session) {
    const name = session.device || t('Unknown device');
    const end = el('button.button', { type: 'button', 'aria-label': t('End the session: {}', name) },
      t('End session'));
    end.onclick = () => attempt(async () => {
      await context.rest.remove(`${PATH}/${session.id}`);
      await list();
      heading.focus();
      return t('The session on {} has ended.', name);
    }, end);
    return el('li', {},
      icon(/iPhone|Android/.test(name) ? 'phone' : 'laptop'),
      el('div', {},
        el('b', { dir: 'auto' }, name, session.current && el('span.chip', {}, t('this one'))),
        el('p.meta', {}, facts(session))),
      !session.current && end);
  }

  async function list() {
    const { sessions } = await context.rest.get(PATH);
    rows.replaceChildren(...sessions.map(draw));
    others.hidden = !sessions.some(({ current }) => !current);
  }

  others.onclick = () => attempt(async () => {
    const { ended } = await context.rest.post(`${PATH}/end-others`);
    await list();
    heading.focus();
    return t('Sessions that have ended: {}.', ended);
  }, others);
  return {
    root: el('section.panel', { 'aria-labelledby': 'logins' }, heading,
      el('p', {}, t('End the sessions that you do not recognise, then change your password.')),
      trouble, said, rows, others),
    load: () => attempt(list),
  };
}
