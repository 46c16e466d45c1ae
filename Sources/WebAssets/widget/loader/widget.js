// The script that a site embeds. It draws the launcher in a shadow root and nothing else. The chat
// is loaded when somebody opens it, or when the visitor has a conversation already.

import { keep } from './place.js';
import { watching } from './watching.js';

/**
 * A constructed sheet needs no permission by the page's style-src.
 * @param {ShadowRoot} root
 * @param {string} css
 */
function style(root, css) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets.push(sheet);
}

(() => {
  /** @typedef {Record<string, (...args: unknown[]) => unknown>} Calls methods of the page's API */
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  /** @type {Record<string, unknown>} */
  const given = { ...script.dataset };
  const early = window.chirrup;
  if (!given.workspace || early && 'open' in early) return;
  const { origin } = new URL(script.src);
  const key = `chirrup:${given.workspace}`;
  const host = document.createElement('chirrup-chat');
  const root = host.attachShadow({ mode: 'open' });
  const launcher = document.createElement('button');
  /** @type {(chat: Calls) => void} */
  let begin;
  /** @type {Promise<void>?} */
  let loading = null;
  /** @type {Promise<Calls>} The chat. Earlier calls wait for it. */
  const chat = new Promise((done) => { begin = done; });

  async function start() {
    try {
      const module = await import(origin + APP);
      style(root, module.css);
      begin(await module.start({ host, root, launcher, origin, given }));
    } catch (error) {
      loading = null;
      launcher.title = 'Chat could not be loaded. Try again.';
      console.warn('chirrup', error);
    }
  }

  const load = () => {
    loading ??= start();
    return chat;
  };
  /** @type {Record<string, unknown>} Attributes of the visitor, for proactive messages */
  const known = {};
  /** @type {Calls} */
  const chirrup = {};
  const api = /** @type {import('./page-api.js').Chirrup & Calls} */ (chirrup);
  window.chirrup = api;
  for (const name of 'open close toggle identify setAttributes setTeam setLocale on destroy'.split(' ')) {
    chirrup[name] = (...args) => {
      if (name === 'setAttributes') Object.assign(known, args[0]);
      if (args[0] === 'ready') return /** @type {() => void} */ (args[1])();
      if (name === 'open' || name === 'toggle') load();
      if (name === 'destroy') {
        Reflect.deleteProperty(window, 'chirrup');
        release();
        if (!loading) return;
      }
      return chat.then((it) => it[name](...args));
    };
  }

  style(root, LAUNCHER_STYLES);
  launcher.className = 'launcher';
  launcher.ariaLabel = 'Open chat';
  launcher.onclick = chirrup.open;
  launcher.onpointerenter = launcher.onfocus = load;
  root.append(launcher);
  const release = keep(host);
  for (const [name, ...rest] of early ?? []) chirrup[name](...rest);
  // the panel was open, or there is a conversation; else loading waits for a click
  try {
    if (sessionStorage[`${key}:open`] || JSON.parse(localStorage[key]).talk) load();
  } catch { /* a new visitor */ }
  watching({ origin, given, key, root, api, known, load });
})();
