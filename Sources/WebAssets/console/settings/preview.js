// The widget as visitors will see it: the real loader and the real app, in a frame of their own
// that gets its answers from this page instead of a gateway. So there is one implementation of the
// looks, and nothing that is tried here reaches a visitor or a conversation.

import { el } from '../../shared/dom.js';
import { mockGateway } from './preview-mock.js';

const WORKSPACE = 'preview';
const WIDE = 484; // px of a frame in which the widget is not on a phone
const SETTLE = 200; // ms without another key before the widget is drawn anew
const STATES = [['open', 'Open'], ['closed', 'Closed'], ['offline', 'Offline'], ['phone', 'Phone']];

export class Preview {
  state = 'open';
  #config = /** @type {any} */ (null);
  #drawn = '';
  #timer = 0;
  #turn = 0;
  #frame = /** @type {HTMLIFrameElement?} */ (null);
  #place = el('div.stage-place');
  #tabs;

  /** @param {{inPage?: boolean}} options `inPage`: below a list, always open */
  constructor({ inPage = false } = {}) {
    this.#tabs = STATES.map(([state, words]) => el('button', {
      type: 'button',
      'aria-pressed': String(state === this.state),
      click: () => this.show(state),
    }, words));
    if (inPage) this.root = el('div.stage-in-page', {}, this.#place);
    else this.root = el(
      'aside.stage',
      { 'aria-label': 'Preview' },
      el(
        'div.stage-bar',
        {},
        el('span.meta', {}, 'Preview'),
        el('div.segments', { role: 'group', 'aria-label': 'State to preview' }, ...this.#tabs),
      ),
      this.#place,
    );
    new ResizeObserver(() => this.#fit()).observe(this.#place);
  }

  /** A desktop is wider than the place for it, so it is seen from a little further away. */
  #fit() {
    const scale = this.state === 'phone' ? 1 : Math.min(1, this.#place.clientWidth / WIDE);
    this.#place.style.setProperty('--scale', String(scale));
  }

  show(state) {
    this.state = state;
    STATES.forEach(([key], at) => this.#tabs[at].setAttribute(
      'aria-pressed',
      String(key === state),
    ));
    this.#draw();
  }

  /** @param {any} config what the gateway would answer to the widget, see widget/config */
  update(config) {
    this.#config = config;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), this.#frame ? SETTLE : 0);
  }

  /** The next frame is made behind the one that is seen, so that nothing flickers. */
  async #draw() {
    if (!this.#config || !this.#place.isConnected) return;
    const sign = JSON.stringify([this.state, this.#config]);
    if (sign === this.#drawn) return;
    this.#drawn = sign;
    const turn = ++this.#turn;
    const frame = el('iframe.rehearsal', {
      title: `The widget, ${STATES.find(([key]) => key === this.state)[1].toLowerCase()}`,
      'data-state': this.state,
    });
    const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
    this.#place.append(frame);
    await loaded; // some browsers put the empty document in later
    await mount(frame, this.#config, this.state);
    if (turn !== this.#turn) return frame.remove();
    for (const old of [...this.#place.children]) if (old !== frame) old.remove();
    frame.classList.add('ready');
    this.#fit();
    this.#frame = frame;
  }

  /** Called when the page is shown again: a frame that was taken out has forgotten everything. */
  shown() {
    this.#drawn = '';
    this.#draw();
  }
}

async function mount(frame, config, state) {
  const view = /** @type {any} */ (frame.contentWindow);
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
  page.title = 'Preview';
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
  if (!view.chirrup) return;
  // an opened widget takes the focus, which is in a field of ours, and so does any dialog
  const { focus } = view.HTMLElement.prototype;
  const { show, showModal } = view.HTMLDialogElement.prototype;
  const quiet = function () { this.open = true; };
  view.HTMLElement.prototype.focus = () => {};
  Object.assign(view.HTMLDialogElement.prototype, { show: quiet, showModal: quiet });
  if (state !== 'closed') await view.chirrup.open();
  await new Promise((done) => setTimeout(done, 120)); // its first frames of the screen
  view.HTMLElement.prototype.focus = focus;
  Object.assign(view.HTMLDialogElement.prototype, { show, showModal });
}

function tomorrow() {
  const at = new Date();
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0);
  return at.toISOString();
}
