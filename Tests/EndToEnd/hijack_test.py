"""A page of another site tries to use the login of an operator in the same browser (A06), to frame the console (X06)
and to talk to our windows (X05)."""

import argparse
import http.server
import os
import threading

from playwright.sync_api import sync_playwright

# Everything the page can try: a token by the cookie, the list by the cookie, and the socket with
# with the browser's own fields. It returns the responses.
ATTEMPT = """
async (base) => {
  const got = {};
  for (const [name, path, method] of [
    ['token', '/api/v1/auth/token', 'POST'],
    ['list', '/api/v1/admin/live-chat/conversations', 'GET'],
    ['claim', '/api/v1/admin/live-chat/next', 'POST'],
  ]) {
    for (const type of ['text/plain', 'application/json']) {
      try {
        const answer = await fetch(base + path, {
          method, credentials: 'include', ...(method === 'POST' && { body: '{}', headers: { 'Content-Type': type } }),
        });
        got[`${name} ${type}`] = `${answer.status} ${await answer.text()}`;
      } catch (error) { got[`${name} ${type}`] = error.name; }
    }
  }
  got.socket = await new Promise((done) => {
    const socket = new WebSocket(`${base.replace('http', 'ws')}/api/v1/ws`, 'chirrup.v1');
    const heard = [];
    socket.onopen = () => { heard.push('open'); socket.send(JSON.stringify({ type: 'hello', ref: 1 })); };
    socket.onmessage = ({ data }) => heard.push(data);
    socket.onclose = ({ code }) => done({ code, heard });
    setTimeout(() => done({ code: 0, heard }), 15000);
  });
  return got;
}
"""

# Records the listeners for messages from other windows.
LISTENING = """
window.listening = [];
const add = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...rest) {
  if (type === 'message' && this === window) window.listening.push(String(rest[0]));
  return add.call(this, type, ...rest);
};
"""

POSTS = """
() => {
  for (const name of ['open', 'close', 'identify', 'setAttributes', 'destroy', 'send', 'logout']) {
    for (const post of [name, `chirrup:${name}`, { type: name }, { chirrup: name }, { method: name, args: ['x'] },
      JSON.stringify({ type: name }), [name]]) window.victim.postMessage(post, '*');
  }
}
"""


def frame(evil, base):
    """Checks that no page can frame the console."""
    evil.evaluate("""(url) => new Promise((done) => {
      const frame = document.createElement('iframe');
      frame.onload = done;
      frame.src = url;
      document.body.append(frame);
    })""", f"{base}/console")
    shown = evil.frames[-1]
    for _ in range(100):  # the error's page comes after the refusal
        if shown.url:
            break
        evil.wait_for_timeout(100)
    assert shown != evil.main_frame and shown.url.startswith("chrome-error:"), f"the console in a frame: {shown.url}"


def post(context, evil, base, path):
    """Checks that messages from another window have no listener and no effect."""
    with context.expect_page() as opened:
        evil.evaluate("(url) => { window.victim = window.open(url); }", base + path)
    victim = opened.value
    victim.wait_for_load_state("networkidle")
    evil.evaluate(POSTS)
    victim.wait_for_timeout(300)
    assert victim.evaluate("window.listening") == [] and victim.evaluate("window.onmessage") is None
    if path == "/demo":
        assert victim.locator("chirrup-chat").count() == 1, "the widget was taken away"
        assert not victim.evaluate("document.querySelector('chirrup-chat').shadowRoot.querySelector('dialog')?.open")
    victim.close()


class Evil(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title>")

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--listed", action="store_true")
    args = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or None, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_init_script(LISTENING)
        page = context.new_page()
        page.goto(f"{args.base_url}/console")
        login = page.evaluate("""async () => {
          const form = document.querySelector('form');
          const value = (name) => form.querySelector(`input[name=${name}], input[type=${name}]`).value;
          const answer = await fetch('/api/v1/auth/login', { method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ email: value('email'), password: value('password') }) });
          const own = await fetch('/api/v1/auth/token', { method: 'POST' });
          return [answer.status, own.status];
        }""")
        assert login == [200, 200], f"the operator is not logged in: {login}"
        assert context.cookies(f"{args.base_url}/api/v1/auth"), "there is no cookie to ride on"
        # The same site for cookies (only the port differs), then another one.
        for host in ("127.0.0.1", "localhost"):
            evil = context.new_page()
            evil.goto(f"http://{host}:{server.server_port}/")
            got = evil.evaluate(ATTEMPT, args.base_url)
            socket = got.pop("socket")
            print(host, got, socket)
            for name, answer in got.items():
                assert answer == "TypeError", f"{host} could read {name}: {answer}"
            heard = [text for text in socket["heard"] if text != "open"]
            assert socket["code"] not in (0, 1000), f"{host}'s socket stays open: {socket}"
            assert not any('"welcome"' in text for text in heard), f"{host} was welcomed: {heard}"
            if args.listed:
                assert socket == {"code": 1006, "heard": []}, f"{host}'s socket was opened: {socket}"
            frame(evil, args.base_url)
            for path in ("/demo", "/console"):
                post(context, evil, args.base_url, path)
            evil.close()
        # It changed nothing: the operator is still logged in.
        assert page.evaluate("() => fetch('/api/v1/auth/token', { method: 'POST' }).then((a) => a.status)") == 200
        browser.close()


main()
