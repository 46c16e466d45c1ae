// The widget as a whole: its visitor, session, panel and screen, and the page's API. The loader
// calls `start` once.

import { el } from '../shared/dom.js';
import { Kind } from '../shared/protocol.js';
import { store } from '../shared/store.js';
import { speakThread } from '../shared/thread.js';
import { title } from './panel/notice.js';
import { panel } from './panel/panel.js';
import { Screen } from './screen.js';
import { Session } from './session.js';
import { tab } from './tab.js';
import { Visitor } from './visitor.js';
import { language, say, speak } from './words.js';

/** The loader makes a style sheet of it. */
export const css = WIDGET_STYLES;

const SECOND = 1000; // ms between two updates of the status line, which depends on the time
const FORMS_AGAIN = 15_000; // ms until the forms are loaded again after a failure

/**
 * The settings of the page: attributes of the script, and later calls.
 * @typedef {{workspace: string, locale?: string, theme?: string, identity?: string,
 *   attributes?: Attributes, team?: string, watcher?: string, teased?: number,
 *   proactive?: {id: string, lead: Greeting}}} Given `watcher` is the secret of the browser's
 *   beacons; `teased` counts messages beside the launcher that are in no log yet; `proactive` was
 *   shown by itself, and stands before the first message
 */

/** @typedef {import('./loader/page-api.js').Attributes} Attributes */

/**
 * The loader's elements, the gateway's origin, and the settings of the page.
 * @typedef {{host: HTMLElement, root: ShadowRoot, launcher: HTMLElement, origin: string,
 *   given: Given}} Place
 */

export class App {
  /**
   * The workspace's settings, empty until they are loaded.
   * @type {Partial<WidgetConfig>}
   */
  config = {};
  /**
   * Null until they are loaded.
   * @type {ReturnType<typeof import('./panel/forms.js').forms>?}
   */
  forms = null;
  /** @type {boolean} */
  isMuted;
  /**
   * Null until they are needed.
   * @type {import('../shared/attachments/attachments.js').Attachments?}
   */
  files = null;
  #prefix;
  #origin;
  #areLoading = false;
  /** @type {ReturnType<typeof import('./live.js').live>=} */
  #live;
  #timer = setInterval(() => { this.#live?.tick(); this.screen.status(); }, SECOND);
  #phone = matchMedia('(max-width:480px),(max-height:480px)');

  /** @param {Place} place */
  constructor({ host, root, launcher, origin, given }) {
    const { workspace } = given;
    this.host = host;
    this.root = root;
    this.launcher = launcher;
    this.given = given;
    this.#origin = origin;
    this.#prefix = `chirrup:${workspace}:`;
    this.isMuted = !!store.get(`${this.#prefix}muted`);
    this.visitor = new Visitor(origin, workspace, given, (error) => this.#fail(
      error,
      'not_identified',
    ));
    const draft = `${this.#prefix}draft`;
    this.view = panel({
      draft: tab.get(draft),
      drafted: (text) => tab.set(draft, text),
      closed: () => this.#left(),
      send: (text) => this.files?.send(text) || this.send(text),
      attach: (files, type) => this.attach(files, type),
      hasFiles: () => !!this.files?.isFilled,
      typed: (text) => this.#typed(text),
      toEnd: () => this.#toEnd(),
      transcript: () => this.#transcript(),
      renew: () => this.renew(),
      mute: () => this.#mute(),
    });
    this.session = new Session({
      origin,
      prefix: this.#prefix,
      visitor: this.visitor,
      config: () => this.config,
      changed: () => this.screen.changed(),
      opened: () => this.#accompany(),
      arrived: (entry) => this.#arrived(entry),
    });
    this.screen = new Screen(this);
    root.prepend(this.view.root, this.screen.teaser);
    host.addEventListener('placed', () => this.#placed());
  }

  /** Loads the forms, once. */
  async loadForms() {
    if (this.#areLoading) return;
    this.#areLoading = true;
    try {
      /** @type {typeof import('./panel/forms.js')} */
      const { forms } = await import(this.#origin + FORMS);
      this.forms = forms({
        say,
        root: this.root,
        visitor: this.visitor,
        config: () => this.config,
        session: () => this.session.talk?.session ?? '',
        begun: (text) => this.#begun(text),
        thank: () => this.#thank(),
      });
      this.screen.speak();
    } catch {
      setTimeout(() => { this.#areLoading = false; this.screen.changed(); }, FORMS_AGAIN);
    }
  }

  /**
   * Loads the part for files, and gives it some.
   * @param {File[]=} files
   * @param {string} type of the event that brought them
   */
  async attach(files = [], type = '') {
    try {
      /** @type {typeof import('./files.js')} */
      const { start } = await import(this.#origin + FILES);
      this.files = await start(this, this.#origin, this.#prefix);
      if (!this.view.form.hidden) this.files.bring(files, type);
    } catch (error) { this.#fail(error, 'unavailable'); }
  }

  /**
   * The files of a message.
   * @param {import('../shared/thread.js').Say} model
   */
  drawFiles(model) {
    if (!this.files) this.attach();
    return this.files?.draw(model);
  }

  /** The first connection loads what goes on beside a conversation. */
  #accompany() {
    import(this.#origin + LIVE).then((it) => { this.#live ??= it.live(this); }, console.warn);
  }

  get #isOpen() { return this.view.root.open; }

  /**
   * Calls the page's listeners by a DOM event, so that an error in one of them stops nothing here.
   * @param {string} name
   * @param {unknown=} detail
   */
  emit(name, detail) { this.host.dispatchEvent(new CustomEvent(name, { detail })); }

  /** @param {MessageFrame} entry that arrives after the backlog */
  #arrived(entry) {
    const { sender, kind } = entry;
    this.emit('message', entry);
    if (sender.kind === 'visitor' || kind === Kind.event) return;
    if (!this.#isOpen && this.config.teaser !== false) this.screen.tease(entry);
    const isSeen = this.#isOpen && !document.hidden;
    if (!isSeen && !this.isMuted && this.config.sound !== false) this.#live?.tone();
  }

  /**
   * Returns whether the outbox took it.
   * @param {string} text
   * @param {Payload=} payload
   */
  send(text, payload) {
    const isTaken = this.session.send(text, payload);
    if (isTaken) this.screen.thread.toEnd();
    return isTaken;
  }

  #toEnd() {
    this.screen.thread.toEnd();
    this.view.text.focus(); // the button that had the focus goes
  }

  renew() {
    this.session.renew();
    this.view.text.focus();
  }

  /** @param {string} text in the composer */
  #typed(text) {
    this.session.trouble = '';
    this.screen.status();
    this.session.talk?.typing.type(text);
  }

  /**
   * A form that begins a conversation was sent.
   * @param {string=} text the first message
   */
  #begun(text) {
    this.screen.hasBegun = true;
    if (text) this.send(text);
    this.session.link.start();
    this.screen.render();
    this.view.text.focus();
  }

  #thank() {
    this.view.page.replaceChildren(el('p.page', { role: 'status' }, say('thanks')));
    this.view.again.focus(); // the button that had the focus is gone
  }

  /**
   * A request that the visitor waits for has failed.
   * @param {unknown} error
   * @param {import('./words.js').Word} word
   */
  #fail(error, word) {
    this.session.trouble = say(word);
    this.emit('error', error);
    this.screen.changed();
  }

  async #transcript() {
    try {
      const answer = await this.visitor.request(
        `sessions/${this.session.talk?.session}/transcript`,
        { token: await this.visitor.token() },
      );
      const href = URL.createObjectURL(await answer.blob());
      el('a', { href, download: 'chat.txt' }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
    } catch (error) { this.#fail(error, 'no_transcript'); }
  }

  #mute() {
    store.set(`${this.#prefix}muted`, this.isMuted = !this.isMuted);
    this.screen.changed();
  }

  open() {
    const { visitor, session } = this;
    if (this.#isOpen) return;
    // the conversation of a new visitor begins with their first message
    if (visitor.identity || this.given.identity) session.link.start();
    if (!this.config.workspace) this.configure();
    this.#show();
    this.#moved();
  }

  /**
   * Below a modal dialog of the page the launcher is inert and takes no focus; as a modal dialog
   * the panel is above it. Outside of the document it is only marked as open, until it is placed.
   */
  #show() {
    const { root: dialog, log, text } = this.view;
    const isFull = this.#phone.matches;
    this.launcher.focus();
    if (this.root.activeElement && !isFull) dialog.show();
    else {
      dialog.toggleAttribute('open', !this.host.isConnected);
      if (!dialog.open) dialog.showModal();
    }
    (isFull ? log : text).focus();
  }

  /** The page has replaced the document, and the loader has placed the widget anew. */
  #placed() {
    if (this.#isOpen && this.#phone.matches) this.#show();
    this.screen.moved();
  }

  close() { this.view.root.close(); }
  toggle() { if (this.#isOpen) this.close(); else this.open(); }

  /** The panel was closed: by its button, by Escape or by the page. */
  #left() {
    this.session.talk?.typing.type('');
    this.launcher.focus();
    this.#moved();
  }

  #moved() {
    const isOpen = this.#isOpen;
    tab.set(`${this.#prefix}open`, isOpen ? '1' : '');
    this.screen.moved();
    this.emit(isOpen ? 'open' : 'close');
    this.screen.changed();
  }

  /** Whether the panel was open on the previous page of this tab. */
  get wasOpen() { return !!tab.get(`${this.#prefix}open`); }

  async configure() {
    try { this.config = await this.visitor.config(); } catch (error) {
      return this.#fail(error, 'unavailable');
    }
    const { accent, position, locale, offline, prechat, rating, menu, attachments } = this.config;
    this.view.clip.hidden = !attachments?.enabled;
    // before they are wanted: another version of the gateway may not have this file
    if (offline?.enabled || prechat?.enabled || rating?.enabled || menu) this.loadForms();
    this.session.trouble = '';
    if (accent) this.host.style.setProperty('--c-accent', accent);
    this.host.setAttribute('data-position', `${position}`);
    if (!this.given.locale && locale && locale !== 'auto') await speak(this.#origin, locale);
    this.spoken();
  }

  /** The language has changed. */
  spoken() {
    speakThread(language, (name) => name === 'note' ? '' : say(name));
    this.screen.speak();
    this.files?.speak(language);
  }

  /** @param {string} locale */
  async setLocale(locale) {
    await speak(this.#origin, this.given.locale = locale);
    this.spoken();
  }

  /** @param {string} jwt */
  identify(jwt) { return this.#set({ identity: jwt }); }

  /** @param {Attributes} attributes */
  setAttributes(attributes) { return this.#set({ attributes }); }

  /** @param {string} team */
  setTeam(team) { return this.#set({ team }); }

  /** @param {Pick<Given, 'identity' | 'attributes' | 'team'>} given */
  async #set(given) {
    Object.assign(this.given, given);
    if (!this.#isOpen && !this.visitor.identity?.token) return; // the first token request has it
    try { await this.session.introduce(); } catch (error) { this.#fail(error, 'not_identified'); }
  }

  /**
   * @param {string} name
   * @param {(detail: unknown) => void} fn
   */
  on(name, fn) {
    this.host.addEventListener(name, (event) => fn(/** @type {CustomEvent} */ (event).detail));
  }

  destroy() {
    clearInterval(this.#timer);
    this.session.close();
    title(0);
  }
}

/**
 * Returns the page's API.
 * @param {Place} place
 */
export async function start(place) {
  const { origin, given, launcher } = place;
  await speak(origin, given.locale || document.documentElement.lang || navigator.language);
  const app = new App(place);
  const { screen, session } = app;
  launcher.onclick = () => app.toggle();
  addEventListener('online', () => session.link.nudge());
  addEventListener('offline', () => session.link.offline());
  document.addEventListener('visibilitychange', () => { session.link.nudge(); screen.changed(); });
  app.spoken();
  if (app.visitor.identity?.talk) { session.link.start(); app.configure(); }
  if (store.get(`chirrup:${given.workspace}:files`)) app.attach();
  if (app.wasOpen) app.open();
  return app;
}
