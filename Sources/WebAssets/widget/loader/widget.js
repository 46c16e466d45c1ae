// The one script a site embeds. It draws the launcher in a shadow root and nothing else: the chat
// itself comes when somebody opens it, or when a conversation from before is still going on.

(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const given = { ...script.dataset };
  const early = /** @type {any} */ (window.chirrup);
  if (!given.workspace || early?.open) return;
  const { origin } = new URL(script.src);
  const key = `chirrup:${given.workspace}`;
  const host = document.createElement('chirrup-chat');
  const root = host.attachShadow({ mode: 'open' });
  const launcher = document.createElement('button');
  /** @type {(chat: any) => void} */
  let begin;
  /** @type {Promise<void>?} */
  let loading = null;
  /**
   * The chat; calls made before wait for it.
   * @type {Promise<any>}
   */
  const chat = new Promise((done) => { begin = done; });

  /**
   * Sheets made here need no permission of the page's style-src.
   * @param {string} css
   */
  function style(css) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets.push(sheet);
  }

  async function start() {
    try {
      const module = await import(origin + APP);
      style(module.css);
      begin(await module.start({ host, root, launcher, origin, given }));
    } catch (error) {
      loading = null;
      launcher.title = 'Chat could not be loaded. Try again.';
      console.warn('chirrup', error);
    }
  }

  const load = () => loading ??= start();
  const chirrup = /** @type {any} */ ({});
  window.chirrup = chirrup;
  for (const name of 'open close toggle identify setAttributes setLocale on destroy'.split(' ')) {
    chirrup[name] = (/** @type {any[]} */ ...args) => {
      if (args[0] === 'ready') return args[1]();
      if (name === 'open' || name === 'toggle') load();
      if (name === 'destroy') host.remove();
      return chat.then((it) => it[name](...args));
    };
  }

  style(LAUNCHER_STYLES);
  launcher.className = 'launcher';
  launcher.ariaLabel = 'Open chat';
  launcher.onclick = chirrup.open;
  launcher.onpointerenter = launcher.onfocus = load;
  root.append(launcher);
  (document.body ?? document.documentElement).append(host);
  for (const [name, ...rest] of early ?? []) chirrup[name](...rest);
  /** An open panel, or a conversation that goes on; anything else can wait for a click. */
  try {
    if (sessionStorage[`${key}:open`] || JSON.parse(localStorage[key]).talk) load();
  } catch { /* nothing is known of this visitor */ }
})();
