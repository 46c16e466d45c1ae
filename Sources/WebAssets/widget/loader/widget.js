// The one script a site embeds. It draws the launcher in a shadow root and nothing else: the chat
// itself comes when somebody opens it, or when a conversation from before is still going on.

(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const given = { ...script.dataset };
  const early = window.chirrup;
  if (!given.workspace || early?.open) return;
  const { origin } = new URL(script.src);
  const key = `chirrup:${given.workspace}`;
  const host = document.createElement('chirrup-chat');
  const root = host.attachShadow({ mode: 'open' });
  const launcher = document.createElement('button');
  let begin, loading;
  /** The chat; calls made before wait for it. */
  const chat = new Promise((done) => { begin = done; });

  /** Sheets made here need no permission of the page's style-src. */
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
      launcher.title = 'Not loaded. Try again.';
      console.warn('chirrup', error);
    }
  }

  const load = () => loading ??= start();
  const chirrup = window.chirrup = {};
  for (const name of 'open close toggle identify setAttributes setLocale on destroy'.split(' ')) {
    chirrup[name] = (...args) => {
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
