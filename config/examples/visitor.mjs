// A visitor of chirrup.v1 (Sources/PROTOCOL.md) for browsers and Node from 18 on. Without a dependency where there is
// a global WebSocket: in browsers, in Node 22, and in Node 20 with --experimental-websocket. Else it takes the one of
// the package `ws` (Debian: node-ws). visitor-terminal.mjs uses it.

const Socket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const { webcrypto = globalThis.crypto } = globalThis.crypto ? {} : await import('node:crypto');
const WINDOW = 8; // sends without an answer; the gateway takes 16
const SILENCE = 40_000; // ms after which the connection counts as lost: the gateway pings after 25 s
const within = (least, most) => least + Math.random() * (most - least);

export class Visitor {
  #base; #workspace; #on; #socket; #token; #timer; #silence;
  #isLive = false; #sent = new Set(); #tries = 0; #window;

  /** `state` is what must survive: keep it with every `on.changed`. `on` also has message, failed, reset, stopped. */
  constructor(base, workspace, state, on) {
    [this.#base, this.#workspace, this.#on] = [base, workspace, on];
    this.state = { refresh: null, session: null, epoch: null, seq: 0, outbox: [], ...state };
    this.#open();
  }

  send(body) {
    this.state.outbox.push({ id: webcrypto.randomUUID(), body }); // the id stays the same over every retry
    this.#on.changed(this.state);
    this.#flush();
  }

  async #open() {
    try {
      this.#token ??= await this.#renew();
    } catch (error) {
      return error.isFinal ? this.#on.stopped(error.message) : this.#again(within(1000, 5000));
    }
    const socket = this.#socket = new Socket(`${this.#base.replace(/^http/, 'ws')}/api/v1/ws`, ['chirrup.v1']);
    socket.onopen = () => this.#say({ type: 'hello', ref: 'hello', token: this.#token, subscribe: [this.#place()] });
    socket.onmessage = ({ data }) => data.split('\n').forEach((line) => this.#receive(JSON.parse(line)));
    socket.onclose = ({ code }) => { if (socket === this.#socket) this.#closed(code); };
    socket.onerror = () => {}; // a close follows
    this.#watch();
  }

  /** A new token, for the same visitor and conversation while the refresh secret is valid. */
  async #renew() {
    const { refresh, session } = this.state;
    const answer = await fetch(`${this.#base}/api/v1/widget/token`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ workspace: this.#workspace, refresh, session }),
    });
    const given = await answer.json();
    const isFinal = answer.status < 500 && answer.status !== 429;
    if (!answer.ok) throw Object.assign(new Error(given.detail), { isFinal });
    if (given.session !== session) Object.assign(this.state, { epoch: null, seq: 0 });
    Object.assign(this.state, { refresh: given.refresh, session: given.session });
    this.#on.changed(this.state);
    return given.token;
  }

  #place() { return { session: this.state.session, after: this.state.seq, epoch: this.state.epoch }; }
  #say(command) { if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(command)); }
  #again(delay) { clearTimeout(this.#timer); this.#timer = setTimeout(() => this.#open(), delay); }
  #watch() { clearTimeout(this.#silence); this.#silence = setTimeout(() => this.#lost(4102), SILENCE); }
  #lost(code) { const socket = this.#socket; this.#closed(code); socket?.close(); }

  #closed(code) {
    [this.#socket, this.#isLive] = [null, false];
    clearTimeout(this.#silence);
    this.#sent.clear(); // without an answer: stored or not, they go out again under the same ids
    if (code >= 4300 && code < 4400) return this.#on.stopped(`closed with ${code}`);
    if (code >= 4200 && code < 4300) this.#token = null; // also when it expired: 4202
    const backoff = [0, Math.min(60_000, 1000 * 2 ** this.#tries++)];
    this.#again(within(...(code >= 4000 && code < 4100 ? this.#window ?? [0, 5000] : backoff)));
    this.#window = null;
  }

  #receive(frame) {
    this.#watch();
    const { state } = this;
    switch (frame.type) {
      case 'ping': return this.#say({ type: 'pong' });
      case 'drain': this.#window = [frame.min_ms, frame.max_ms]; return;
      case 'resync': // the log begins again: drop the copy of it
        Object.assign(state, { epoch: frame.epoch, seq: 0 });
        this.#on.reset();
        if (this.#isLive) this.#say({ type: 'subscribe', ...this.#place() });
        break;
      case 'subscribed':
        Object.assign(state, { epoch: frame.epoch, seq: frame.from - 1 });
        this.#tries = 0;
        this.#live();
        break;
      case 'message':
        if (frame.seq !== state.seq + 1) return this.#lost(4190); // never seen; subscribe again
        state.seq = frame.seq;
        this.#done(frame.id); // one's own message may come before its ack, or instead of it
        this.#on.message(frame);
        break;
      case 'ack': this.#done(frame.id); break;
      case 'error': return this.#refused(frame);
      case 'unsubscribed': return this.#lost(4201); // the conversation is gone: a new token has another
      default: return; // others are of no use here
    }
    this.#on.changed(state);
  }

  #refused({ ref, code, retry, retry_after_ms: delay = 1000 }) {
    if (retry) { // all behind it fail too: later everything again, from the oldest
      const socket = this.#socket;
      if (this.#isLive) setTimeout(() => { if (socket === this.#socket) this.#live(); }, delay);
      this.#isLive = false;
      return;
    }
    // An error of no message is one of the connection, such as a conversation that is gone.
    if (!this.state.outbox.some(({ id }) => id === ref)) return this.#lost(4201);
    this.#done(ref);
    this.#on.failed(ref, code);
    this.#on.changed(this.state);
  }

  #live() {
    this.#isLive = true;
    this.#sent.clear();
    this.#flush();
  }

  #done(id) {
    this.state.outbox = this.state.outbox.filter((item) => item.id !== id);
    if (this.#sent.delete(id)) this.#flush();
  }

  #flush() {
    if (!this.#isLive) return;
    for (const { id, body } of this.state.outbox.slice(0, WINDOW).filter((item) => !this.#sent.has(item.id))) {
      this.#sent.add(id);
      this.#say({ type: 'send', ref: id, session: this.state.session, id, body });
    }
  }
}
