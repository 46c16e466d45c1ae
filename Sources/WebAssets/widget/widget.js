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
      const module = await import(`${origin}/assets/widget/app.js`);
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

  style(`:host{all:initial!important;display:block!important;position:fixed!important;inset:auto 20px 20px auto!important;z-index:2147483000!important}:host(:is([data-position=left],:dir(rtl))){inset:auto auto 20px 20px!important}
.launcher{width:56px;height:56px;padding:0;border:0;border-radius:28px;background:#0f7266;color:#fff;cursor:pointer;box-shadow:0 8px 24px #0003}
.swift,.launcher:not(:has(.icon))::before{content:"";display:inline-block;flex:none;width:24px;height:24px;background:currentColor;transform:rotate(42deg) scale(1.2);clip-path:path("M12 3q1.4.3 1.8 2 8.6.6 9.9 12-3.6-6.3-9.3-6.6-.3 3.3-1.3 6l1.5 6-2.6-2.5-2.6 2.5 1.5-6q-1-2.7-1.3-6-5.7.3-9.3 6.6 1.3-11.4 9.9-12 .4-1.7 1.8-2z")}`);
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
