// The one script a site embeds. It draws the launcher in a shadow root and nothing else: the chat
// itself comes when somebody opens it, or when a conversation from before is still going on.

(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const { workspace } = script.dataset;
  if (!workspace || window.chirrup) return;
  const { origin } = new URL(script.src);
  const key = `chirrup:${workspace}`;
  const host = document.createElement('chirrup-chat');
  const root = host.attachShadow({ mode: 'open' });
  const launcher = document.createElement('button');
  let app;

  /** Sheets made here need no permission of the page's style-src. */
  function style(css) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  }

  async function load() {
    const module = await import(`${origin}/assets/widget/app.js`);
    style(module.css);
    return module.start({ host, root, launcher, origin, workspace });
  }

  const act = (name) => () => {
    app ??= load();
    return app.then((chat) => chat[name]?.(), (error) => {
      app = null;
      console.warn('chirrup', error);
    });
  };
  window.chirrup = { open: act('open'), close: act('close'), toggle: act('toggle') };

  /** An open panel, or a conversation that goes on; anything else can wait for a click. */
  function wanted() {
    try {
      return sessionStorage.getItem(`${key}:open`) || JSON.parse(localStorage.getItem(key))?.talk;
    } catch { return false; }
  }

  function place() {
    style(`:host{all:initial!important;display:block!important;position:fixed!important;inset-block:auto 20px!important;inset-inline:auto 20px!important;z-index:2147483000!important}
.launcher{width:56px;height:56px;padding:13px;border:0;border-radius:28px;background:#0b6e63;color:#fff;cursor:pointer;box-shadow:0 8px 24px rgb(13 32 34/.2)}`);
    launcher.className = 'launcher';
    launcher.setAttribute('aria-label', 'Open chat');
    const node = (name, attributes) => {
      const made = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of attributes) made.setAttribute(key, value);
      return made;
    };
    const mark = node('svg', [['viewBox', '0 0 24 24'], ['fill', 'currentColor']]);
    mark.append(node('path', [['transform', 'rotate(42 12 12)'], ['d', 'M12 3.3c.8 0 1.5.6 1.8 1.7 5 .2 9.2 4.3 9.9 12-2.6-4.6-5.8-6.5-9.3-6.6-.2 2.3-.7 4.3-1.3 6l1.5 6.1-2.6-2.6-2.6 2.6 1.5-6.1c-.6-1.7-1.1-3.7-1.3-6-3.5.1-6.7 2-9.3 6.6C1 9.3 5.2 5.2 10.2 5c.3-1.1 1-1.7 1.8-1.7z']]));
    launcher.append(mark);
    launcher.onclick = window.chirrup.toggle;
    launcher.onpointerenter = launcher.onfocus = act('');
    root.append(launcher);
    document.body.append(host);
    if (wanted()) act('')();
  }

  if (document.body) place(); else addEventListener('DOMContentLoaded', place);
})();
