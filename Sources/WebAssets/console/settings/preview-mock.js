// A gateway for one frame of this page: the requests and the socket of the widget that runs in it
// are answered here. It knows as much of chirrup.v1 as one visitor with one conversation needs.

import { Command, Kind, Event } from '../../shared/protocol.js';

const SESSION = '00000000-0000-7000-8000-000000000001';
const VISITOR = { kind: 'visitor', id: '00000000-0000-7000-8000-000000000002' };
const MIKA = { kind: 'operator', id: '00000000-0000-7000-8000-000000000003', name: 'Mika' };

/** Gives `view` its own network and its own memory. */
export function mockGateway(view, workspace, config, state) {
  const talks = state === 'open' || state === 'phone';
  view.fetch = async (address, { body = '' } = {}) => answer(view, String(address), body, config);
  view.WebSocket = class extends MockSocket { static view = view; static talks = talks; };
  define(view, 'localStorage', memory(talks && {
    [`chirrup:${workspace}`]: JSON.stringify(identity()),
  }));
  define(view, 'sessionStorage', memory());
  define(view, 'indexedDB', undefined); // the outbox falls back on the memory above
  define(view, 'AudioContext', undefined);
}

function define(view, name, value) {
  Object.defineProperty(view, name, { value, configurable: true, writable: true });
}

const identity = () => ({
  refresh: 'preview',
  token: 'preview',
  session: SESSION,
  visitor: VISITOR,
  expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  status: 'active',
  talk: true,
});

function answer(view, address, body, config) {
  const json = (value, status = 200) => new view.Response(
    value === null ? null : JSON.stringify(value),
    { status, headers: { 'content-type': 'application/json' } },
  );
  if (address.includes('/config')) return json(config);
  if (address.includes('/token')) return json(identity());
  if (address.includes('/profile')) {
    return json({ visitor: { id: VISITOR.id, ...JSON.parse(body || '{}') } });
  }
  if (address.includes('/offline')) return json({}, 201);
  if (address.includes('/rating')) return json(null, 204);
  return json({ type: 'urn:chirrup:problem:not_found', title: 'Not found', status: 404 }, 404);
}

/** A storage that begins with some entries and ends with its frame. */
function memory(entries = {}) {
  const kept = new Map(Object.entries(entries || {}));
  const known = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => { kept.set(key, String(value)); },
    removeItem: (key) => { kept.delete(key); },
    clear: () => kept.clear(),
    key: (at) => [...kept.keys()][at] ?? null,
  };
  return new Proxy(known, {
    get: (target, name) => name === 'length' ? kept.size : target[name] ?? kept.get(String(name)),
    ownKeys: () => [...kept.keys()],
    getOwnPropertyDescriptor: (target, name) => kept.has(String(name))
      ? { value: kept.get(String(name)), enumerable: true, configurable: true, writable: true }
      : undefined,
  });
}

class MockSocket {
  static view; static talks = false;
  readyState = 0; bufferedAmount = 0; protocol = 'chirrup.v1'; binaryType = 'blob';
  onopen; onmessage; onclose; onerror;
  #entries = /** @type {any[]} */ ([]);

  constructor() {
    if (/** @type {any} */ (this.constructor).talks) this.#entries = example();
    setTimeout(() => { this.readyState = 1; this.onopen?.({}); });
  }

  addEventListener(name, act) { this[`on${name}`] = act; }
  removeEventListener(name) { this[`on${name}`] = undefined; }

  close(code = 1000) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    setTimeout(() => this.onclose?.({ code, reason: '', wasClean: true }));
  }

  send(text) {
    const frame = JSON.parse(text);
    const at = new Date().toISOString();
    const { ref, session } = frame;
    const last = () => this.#entries.at(-1)?.seq ?? 0;
    switch (frame.type) {
      case Command.hello:
        return this.#tell({
          type: Event.welcome,
          ref,
          you: VISITOR,
          node: 'preview',
          heartbeat: { interval_ms: 86_400_000, timeout_ms: 86_400_000 },
        });
      case Command.subscribe:
        this.#tell({
          type: Event.subscribed,
          ref,
          session,
          epoch: 'preview',
          from: 1,
          head: last(),
          status: this.#entries.length ? 'active' : 'waiting',
          assignee: this.#entries.length ? { id: MIKA.id, name: MIKA.name } : null,
          marks: [{ who: MIKA, read: last(), delivered: last() }],
        });
        for (const entry of this.#entries) this.#tell({ type: Event.message, session, ...entry });
        return this.#tell({ type: Event.live, session, seq: last() });
      case Command.send: {
        const { id, kind = Kind.text, body, payload } = frame;
        const entry = { seq: last() + 1, id, sender: VISITOR, kind, body, payload, at };
        this.#entries.push(entry);
        this.#tell({ type: Event.ack, ref, session, id, seq: entry.seq, at });
        return this.#tell({ type: Event.message, session, ...entry });
      }
      case Command.history:
        return this.#tell({ type: Event.ok, ref, session, messages: [], more: false });
      default:
        if (ref != null) this.#tell({ type: Event.ok, ref, session });
    }
  }

  #tell(frame) {
    setTimeout(() => this.readyState === 1 && this.onmessage?.({ data: JSON.stringify(frame) }));
  }
}

/** What a conversation looks like. */
function example() {
  const at = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  return [
    {
      seq: 1,
      id: '00000000-0000-7000-8000-000000000011',
      sender: VISITOR,
      kind: Kind.text,
      body: 'Hello, my chain skips.',
      at: at(4),
    },
    {
      seq: 2,
      id: '00000000-0000-7000-8000-000000000012',
      sender: MIKA,
      kind: Kind.text,
      body: 'Is it an older bicycle, or one you bought this year?',
      at: at(2),
    },
  ];
}
