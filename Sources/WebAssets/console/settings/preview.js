// A preview of the widget: the real loader and app run in an iframe, whose requests this page
// answers instead of a gateway. So the preview cannot differ from the widget, and nothing that is
// tried in it reaches a conversation.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { mockGateway } from './preview-mock.js';

const WORKSPACE = 'preview';
const WIDE = 484; // px; a narrower iframe would count as a phone
const SETTLE = 200; // ms after the last key until the widget is drawn anew
const FRAMES = 120; // ms for the first animation frames of the widget
/** @type {[state: string, words: string][]} */
const STATES = [['open', t('Open|state')], ['closed', t('Closed|not open')], ['offline', t('Offline')], ['phone', t('Phone')]];

/**
 * The configuration that the preview shows; its hours and forms depend on the state.
 * @typedef {Omit<WidgetConfig, 'hours' | 'operators_available' | 'prechat'>} PreviewConfig
 */

export class Preview {
  state = 'open';
  /** @type {PreviewConfig?} */
  #config = null;
  #drawn = '';
  #timer = 0;
  #turn = 0;
  /** @type {HTMLIFrameElement?} */
  #frame = null;
  #place = el('div.stage-place');
  /** @type {HTMLElement[]} */
  #tabs;

  /** @param {{inPage?: boolean}} options `inPage` is for a place below a list, without tabs */
  constructor({ inPage = false } = {}) {
    this.#tabs = STATES.map(([state, words]) => el('button', {
      type: 'button',
      'aria-pressed': String(state === this.state),
      click: () => { this.show(state); },
    }, words));
    if (inPage) this.root = el('div.stage-in-page', {}, this.#place);
    else this.root = el(
      'aside.stage',
      { 'aria-label': t('Preview') },
      el(
        'div.stage-bar',
        {},
        el('span.meta', {}, t('Preview')),
        el('div.segments', { role: 'group', 'aria-label': t('State to preview') }, ...this.#tabs),
      ),
      this.#place,
    );
    new ResizeObserver(() => this.#fit()).observe(this.#place);
  }

  /** Scales a desktop's iframe, which is wider than its place. */
  #fit() {
    const scale = this.state === 'phone' ? 1 : Math.min(1, this.#place.clientWidth / WIDE);
    this.#place.style.setProperty('--scale', String(scale));
  }

  /** @param {string} state */
  show(state) {
    this.state = state;
    STATES.forEach(([key], at) => this.#tabs[at].setAttribute(
      'aria-pressed',
      String(key === state),
    ));
    this.#draw();
  }

  /** @param {PreviewConfig} config */
  update(config) {
    this.#config = config;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), this.#frame ? SETTLE : 0);
  }

  /** Loads the next iframe behind the visible one, so that nothing flickers. */
  async #draw() {
    if (!this.#config || !this.#place.isConnected) return;
    const sign = JSON.stringify([this.state, this.#config]);
    if (sign === this.#drawn) return;
    this.#drawn = sign;
    const turn = ++this.#turn;
    const words = STATES.find(([key]) => key === this.state)?.[1] ?? '';
    const frame = el('iframe.preview-frame', {
      title: t('The widget: {}', words),
      'data-state': this.state,
    });
    const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
    this.#place.append(frame);
    await loaded; // some browsers insert the empty document later
    await mount(frame, this.#config, this.state);
    if (turn !== this.#turn) return frame.remove();
    for (const old of [...this.#place.children]) if (old !== frame) old.remove();
    frame.classList.add('ready');
    this.#fit();
    this.#frame = frame;
  }

  /** To be called when the page is shown again: an iframe that was removed has lost its state. */
  shown() {
    this.#drawn = '';
    this.#draw();
  }
}

/**
 * Runs the widget in an iframe.
 * @param {HTMLIFrameElement} frame
 * @param {PreviewConfig} config
 * @param {string} state
 */
async function mount(frame, config, state) {
  const view = /** @type {Window & typeof globalThis} */ (frame.contentWindow);
  const page = view.document;
  const isOpen = state !== 'offline';
  const given = {
    ...config,
    hours: { is_open: isOpen, opens_at: isOpen ? null : tomorrow() },
    operators_available: isOpen,
    offline: { ...config.offline, enabled: !isOpen && config.offline.enabled },
    prechat: { enabled: false, fields: [] },
  };
  mockGateway(view, WORKSPACE, given, state);
  page.documentElement.lang = config.locale === 'auto' ? navigator.language : config.locale;
  page.documentElement.dataset.theme = document.documentElement.dataset.theme ?? '';
  page.title = t('Preview');
  const sheet = page.createElement('link');
  sheet.rel = 'stylesheet';
  sheet.href = PREVIEW_STYLES;
  const script = page.createElement('script');
  script.src = `${location.origin}/widget.js`;
  script.dataset.workspace = WORKSPACE;
  for (const name of ['h', 'p', 'p', 'p short', 'h', 'p', 'p short']) {
    const line = page.createElement('div');
    line.className = name;
    page.body.append(line);
  }
  const ready = new Promise((done) => { script.onload = script.onerror = done; });
  page.head.append(sheet, script);
  await ready;
  const { chirrup } = view;
  if (!chirrup || !('open' in chirrup)) return;
  // opening the widget would take the focus from a field of this page
  const { focus } = view.HTMLElement.prototype;
  const { show, showModal } = view.HTMLDialogElement.prototype;
  /** @this {HTMLDialogElement} */
  function quiet() { this.open = true; }
  view.HTMLElement.prototype.focus = () => {};
  Object.assign(view.HTMLDialogElement.prototype, { show: quiet, showModal: quiet });
  if (state !== 'closed') await chirrup.open();
  await new Promise((done) => { setTimeout(done, FRAMES); });
  view.HTMLElement.prototype.focus = focus;
  Object.assign(view.HTMLDialogElement.prototype, { show, showModal });
}

function tomorrow() {
  const at = new Date();
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0);
  return at.toISOString();
}
