// The one script a site embeds. It draws the launcher in a shadow root and nothing else: the chat's modules and
// its socket come when somebody opens the panel, or when a conversation from before is still going on.

(() => {
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const workspace = script?.dataset.workspace;
  if (!workspace || window.chirrup) return;
  const origin = new URL(script.src).origin;
  const host = document.createElement('chirrup-chat');
  const root = host.attachShadow({ mode: 'open' });
  const launcher = document.createElement('button');
  let app;

  /** Styles go in as sheets, which need no permission of the page's style-src. */
  function sheet(css) {
    const made = new CSSStyleSheet();
    made.replaceSync(css);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, made];
  }

  async function styles() {
    const response = await fetch(`${origin}/assets/widget/app.css`);
    if (!response.ok) throw new Error(response.statusText);
    sheet(await response.text());
  }

  function load() {
    app ??= Promise.all([import(`${origin}/assets/widget/app.js`), styles()])
      .then(([module]) => module.start({ host, root, launcher, origin, workspace }))
      .catch((error) => { app = undefined; launcher.title = 'Chat cannot be loaded at the moment'; console.warn('chirrup', error); });
    return app;
  }

  const act = (name) => load().then((chat) => chat?.[name]());
  window.chirrup = { open: () => act('open'), close: () => act('close'), toggle: () => act('toggle') };

  /** Something unsent, an open panel or a running conversation; anything else can wait for a click. */
  function wanted() {
    try {
      const key = `chirrup:${workspace}`;
      return sessionStorage.getItem(`${key}:open`) || JSON.parse(localStorage.getItem(key) ?? '{}').talk
        || Object.keys(localStorage).some((name) => name.startsWith(`${key}:out:`));
    } catch { return false; }
  }

  function place() {
    sheet(`:host { all: initial !important; display: block !important; position: fixed !important; inset: auto 20px 20px auto !important; z-index: 2147483000 !important }
:host(:dir(rtl)) { inset: auto auto 20px 20px !important }
.launcher { display: grid; place-items: center; width: 56px; height: 56px; padding: 0; border: 0; border-radius: 28px; background: #0b6e63; color: #fff; cursor: pointer; box-shadow: 0 8px 24px rgb(13 32 34 / .2) }
.launcher svg { width: 30px; height: 30px }`);
    launcher.className = 'launcher';
    launcher.type = 'button';
    launcher.setAttribute('aria-label', 'Open chat');
    const svg = launcher.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'svg'));
    const path = svg.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'path'));
    svg.setAttribute('viewBox', '0 0 24 24');
    path.setAttribute('fill', 'currentColor');
    path.setAttribute('transform', 'rotate(42 12 12)');
    path.setAttribute('d', 'M12 3.3c.8 0 1.5.6 1.8 1.7 5 .2 9.2 4.3 9.9 12-2.6-4.6-5.8-6.5-9.3-6.6-.2 2.3-.7 4.3-1.3 6l1.5 6.1-2.6-2.6-2.6 2.6 1.5-6.1c-.6-1.7-1.1-3.7-1.3-6-3.5.1-6.7 2-9.3 6.6C1 9.3 5.2 5.2 10.2 5c.3-1.1 1-1.7 1.8-1.7z');
    launcher.onclick = () => window.chirrup.toggle();
    launcher.onpointerenter = launcher.onfocus = load;
    root.append(launcher);
    document.body.append(host);
    if (wanted()) (window.requestIdleCallback ?? setTimeout)(load);
  }

  if (document.body) place(); else addEventListener('DOMContentLoaded', place);
})();
