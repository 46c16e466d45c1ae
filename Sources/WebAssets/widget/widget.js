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
  const calls = [];
  let app;

  /** Sheets made here need no permission of the page's style-src. */
  function style(css) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  }

  async function start() {
    const module = await import(`${origin}/assets/widget/app.js`);
    style(module.css);
    const chat = await module.start({ host, root, launcher, origin, given });
    for (const [name, args] of calls) chat[name](...args);
    return chat;
  }

  const load = () => app ??= start().catch((error) => {
    app = null;
    calls.length = 0;
    launcher.title = 'The chat did not load. Try again.';
    console.warn('chirrup', error);
  });

  /** Until somebody wants to chat, calls are kept for later. */
  const act = (name) => (...args) => {
    if (args[0] === 'ready') return args[1]();
    if (app) return app.then((chat) => chat?.[name](...args));
    calls.push([name, args]);
    if (name === 'destroy') host.remove();
    else if (name === 'open' || name === 'toggle') return load();
  };
  const chirrup = window.chirrup = {};
  for (const name of 'open close toggle identify setAttributes setLocale on destroy'.split(' ')) {
    chirrup[name] = act(name);
  }

  /** An open panel, or a conversation that goes on; anything else can wait for a click. */
  function wanted() {
    try {
      return sessionStorage.getItem(`${key}:open`) || JSON.parse(localStorage.getItem(key))?.talk;
    } catch { return false; }
  }

  function place() {
    style(`:host{all:initial!important;display:block!important;position:fixed!important;inset:auto 20px 20px auto!important;z-index:2147483000!important}:host(:is([data-position=left],:dir(rtl))){inset:auto auto 20px 20px!important}
.launcher{width:56px;height:56px;padding:0;border:0;border-radius:28px;background:#0b6e63;color:#fff;cursor:pointer;box-shadow:0 8px 24px rgb(13 32 34/.2)}
.swift,.launcher:not(:has(.icon))::before{content:"";display:inline-block;flex:none;width:24px;height:24px;background:currentColor;transform:rotate(42deg) scale(1.2);clip-path:path("M12 3.3c.8 0 1.5.6 1.8 1.7 5 .2 9.2 4.3 9.9 12-2.6-4.6-5.8-6.5-9.3-6.6-.2 2.3-.7 4.3-1.3 6l1.5 6.1-2.6-2.6-2.6 2.6 1.5-6.1c-.6-1.7-1.1-3.7-1.3-6-3.5.1-6.7 2-9.3 6.6C1 9.3 5.2 5.2 10.2 5c.3-1.1 1-1.7 1.8-1.7z")}`);
    launcher.className = 'launcher';
    launcher.ariaLabel = 'Open chat';
    launcher.onclick = () => chirrup.toggle();
    launcher.onpointerenter = launcher.onfocus = load;
    root.append(launcher);
    document.body.append(host);
    for (const [name, ...rest] of early ?? []) chirrup[name](...rest);
    if (wanted()) load();
  }

  if (document.body) place(); else addEventListener('DOMContentLoaded', place);
})();
