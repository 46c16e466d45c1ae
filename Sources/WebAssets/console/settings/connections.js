// The connections of all gateways: open ones, those that ended recently, and why. An
// administrator can disconnect a client, which connects again by itself.

import { el, icon } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { generatedName } from '../visitor/visitor-name.js';
import { traced } from './connection-trace.js';
import { confirmed } from './fields.js';
import { editorPlace, headingLevel, pane } from './pane.js';
import { moment } from './times.js';

const PAGE = 50; // connections of one request
const BASE = '#/settings/connections';
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const REASON_MAX = 200;

/** @type {[value: string, words: string][]} */
const STATES = [['', t('All')], ['open', t('Open|connection')], ['ended', t('Ended')]];

/**
 * The close codes in words; the others have the reason of the gateway.
 * @type {Record<number, string>}
 */
const ENDS = {
  1000: t('Closed the chat'), 1001: t('Left the page'), 1005: t('Closed without a code'),
  1006: t('Network lost'), 4000: t('Server restarted'), 4003: t('Disconnected by an administrator'),
  4101: t('Too slow'), 4102: t('No answer to ping'), 4103: t('Too many or too fast'), 4104: t('Overloaded'),
  4202: t('Token expired'), 4203: t('Token not valid'), 4204: t('Login ended'), 4302: t('Blocked'),
};

/** @type {Record<string, string>} */
const SIDES = {
  peer: t('by the client'), gateway: t('by the gateway'), network: t('by the network'),
  kick: t('by an administrator'), shutdown: t('by a restart'),
};

/** @param {ConnectionRow} row */
const nameOf = ({ name, visitor, operator }) => name
  || (visitor ? generatedName(visitor) : operator ? t('Former operator') : t('No token yet'));

/** @param {number} milliseconds */
function span(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return t('{}\u00a0s', seconds);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t('{}\u00a0min', minutes);
  return t('{1}\u00a0h {2}\u00a0min', Math.floor(minutes / 60), minutes % 60);
}

/** @param {ConnectionRow} row */
function stateOf({ state, code, reason, slow_ms: slow }) {
  if (state === 'open') return ['live', t('Open|connection')];
  if (state === 'slow') return ['slow', t('Slow for {}', span(slow ?? 0))];
  const kind = code === 1006 || code === 4102 ? 'gap' : (code ?? 0) >= 4100 ? 'bad' : 'off';
  return [kind, `${code} ${ENDS[code ?? 0] ?? reason ?? ''}`];
}

/** @param {number} count */
const figure = (count) => count.toLocaleString(locale);

/** @param {ConnectionRow} row */
function badge(row) {
  const [kind, words] = stateOf(row);
  return el('span.end-state', { 'data-kind': kind }, el('span.dot'), el('span', {}, words));
}

/** @param {ConnectionRow} row */
function sessionsOf({ sessions, session_count: count }) {
  const names = sessions.join(' ');
  return count > sessions.length ? t('{1} and {2} more', names, count - sessions.length) : names;
}

/** @param {ConnectionRow} row */
function facts(row) {
  const end = row.ended_at && [
    [t('Ended'), moment(row.ended_at)], [t('Reason'), row.reason ?? ''],
    [t('Closed|by'), SIDES[row.closed_by ?? ''] ?? ''],
  ];
  /** @type {(string | HTMLElement)[][]} */
  const pairs = [
    [t('State'), badge(row)], [t('Role'), row.operator ? t('Operator') : t('Visitor')],
    [t('Opened'), moment(row.opened_at)], ...(end || []), [t('Lasted'), span(row.duration_ms)],
    [t('Address'), row.address],
    [t('Messages'), t('{1} in, {2} out', figure(row.messages_in), figure(row.messages_out))],
    [t('Bytes'), t('{1} in, {2} out', figure(row.bytes_in), figure(row.bytes_out))],
    [t('Conversations'), sessionsOf(row)],
    [t('Id'), row.id], [t('Gateway'), row.gateway], [t('Loop'), String(row.loop)],
  ];
  return el('dl.facts', {},
    ...pairs.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const page = new Connections(context);
  await page.load();
  return page;
}

class Connections {
  #context;
  #body = el('tbody');
  #more = el('button.button', { type: 'button', hidden: true }, t('Show older ones'));
  #trouble = el('p.trouble-line', { role: 'alert', hidden: true });
  #empty = el('div.empty', { hidden: true }, icon('ext'), el('b', {}, t('No connection')),
    el('p', {}, t('Nobody matches. Older ends are in the gateway’s log.')));
  #silent = el('p.hint', { role: 'status', hidden: true });
  #search = el('input.input', { type: 'search', maxlength: 200, placeholder: t('Id or address'),
    'aria-label': t('Search by the id of a visitor, operator or conversation, or by address') });
  #table = el('table.log-table.connections', {},
    el('thead', {}, el('tr', {}, ...[t('Since'), t('Role'), t('Who'), t('Address'), t('In / out'), t('State')].map(
      (name) => el('th', { scope: 'col' }, name)))), this.#body);
  #state = '';
  /** @type {string?} */
  #cursor = null;

  /** @param {import('./pane.js').SettingsContext} context */
  constructor(context) {
    this.#context = context;
    this.aside = editorPlace(t('Connection'));
    this.#more.onclick = () => this.#attempt(() => this.#append());
    const reload = el('button.button.quiet', { type: 'button', click: () => this.#reload() },
      icon('reload', 'small'), t('Refresh'));
    const form = el('form.connection-filters', { role: 'search',
      submit: (event) => { event.preventDefault(); this.#reload(); } },
      this.#search, this.#segments(), reload);
    this.root = pane({
      title: t('Connections'),
      lead: t('Open connections of all gateways, those that ended in the last 24 hours, and why.'),
      body: [form, this.#trouble, this.#silent,
        el('div.scroll', { role: 'region', tabindex: 0, 'aria-label': t('Connections') }, this.#table),
        this.#empty, el('div', {}, this.#more)],
    });
  }

  #segments() {
    const buttons = STATES.map(([value, words]) => el('button', { type: 'button',
      'aria-pressed': String(value === ''), click: () => {
        this.#state = value;
        buttons.forEach((button, at) => {
          button.setAttribute('aria-pressed', String(STATES[at][0] === value));
        });
        this.#reload();
      } }, words));
    return el('div.segments', { role: 'group', 'aria-label': t('State') }, ...buttons);
  }

  #reload() { return this.#attempt(() => this.load()); }

  /** @param {() => Promise<void>} work */
  async #attempt(work) {
    this.#trouble.hidden = true;
    try { await work(); } catch (error) { this.#complain(error); }
  }

  /** @param {unknown} error */
  #complain(error) {
    this.#trouble.hidden = false;
    this.#trouble.replaceChildren(icon('alert', 'small'), sentence(error));
  }

  async load() {
    this.#cursor = null;
    await this.#append(true);
  }

  /** @param {boolean=} isFirst */
  async #append(isFirst = false) {
    const words = this.#search.value.trim();
    const query = { state: this.#state || null, cursor: this.#cursor, limit: PAGE };
    const key = ID.test(words) ? 'party' : 'address';
    let answer = await this.#get({ ...query, [key]: words || null });
    // An id may also be that of a conversation.
    if (key === 'party' && !answer.connections.length) {
      answer = await this.#get({ ...query, session: words });
    }
    this.#cursor = answer.next_cursor;
    if (isFirst) this.#body.replaceChildren();
    this.#body.append(...answer.connections.map((row) => this.#row(row)));
    this.#silent.hidden = !answer.silent_gateways?.length;
    this.#silent.textContent = t('Missing, since they do not answer: {}',
      answer.silent_gateways?.join(', ') ?? '');
    this.#more.hidden = !this.#cursor;
    this.#empty.hidden = this.#body.childElementCount > 0;
    this.#table.hidden = !this.#empty.hidden;
  }

  /** @param {Query} query */
  #get(query) { return this.#context.rest.get('connections', query); }

  /** @param {ConnectionRow} row */
  #row(row) {
    return el('tr', {},
      el('td', {}, el('time.num', { datetime: row.opened_at }, moment(row.opened_at)),
        el('small.meta', {}, span(row.duration_ms))),
      el('td', {}, row.operator ? t('Operator') : t('Visitor')),
      el('td', {}, el('a', { href: `${BASE}/${row.id}`, dir: 'auto' }, nameOf(row))),
      el('td', {}, el('span.num', {}, row.address)),
      el('td.num', {}, `${figure(row.messages_in)} / ${figure(row.messages_out)}`),
      el('td.wrap', {}, badge(row)));
  }

  /** @param {string} id '' for none */
  async show(id) {
    this.aside.hidden = !id;
    this.#context.level(id ? 2 : 1);
    if (id) await this.#attempt(() => this.#open(id));
  }

  /** @param {string} id */
  async #open(id) {
    const { connection: row } = await this.#context.rest.get(`connections/${id}`);
    const name = nameOf(row);
    const reason = el('input.input', { id: 'kick-reason', maxlength: REASON_MAX, dir: 'auto' });
    const said = el('p.hint', { role: 'status' });
    const kick = confirmed(
      t('Disconnect'),
      t('Disconnect {}? The client connects again within seconds and misses nothing.', name),
      async () => {
        try {
          const words = reason.value.trim();
          await this.#context.rest.post(`connections/${id}/disconnect`,
            words ? { reason: words } : {});
          await this.#open(id);
          await this.load();
        } catch (error) { said.textContent = sentence(error); }
      },
    );
    this.aside.replaceChildren(el('div.editor-place', {},
      el('header.pane-head', {},
        el('a.icon-button.up', { href: BASE, 'aria-label': t('Back') }, icon('back')),
        el('div.pane-title', {}, el('h2', { dir: 'auto', 'aria-level': headingLevel() }, name)),
        el('a.icon-button', { href: BASE, 'aria-label': t('Close|panel') }, icon('x'))),
      el('div.settings', {}, facts(row),
        !row.ended_at && el('div.field', {},
          el('label', { for: 'kick-reason' }, t('Reason (for the audit log)')), reason,
          el('p.hint', {}, t('To keep a visitor out, block them in the conversation.')),
          kick, said),
        !row.ended_at && traced(this.#context.rest, id))));
  }
}
