// A mock gateway for the preview's iframe: it answers the requests and the socket of the widget. It
// knows as much of chirrup.v1 as one visitor with one conversation needs.

import { t } from '../shell/language.js';
import { Command, Kind, Event } from '../../shared/protocol.js';

const SESSION = '00000000-0000-7000-8000-000000000001';
const VISITOR = { kind: 'visitor', id: '00000000-0000-7000-8000-000000000002' };
const MIKA = { kind: 'operator', id: '00000000-0000-7000-8000-000000000003', name: 'Mika' };

/** @typedef {Window & typeof globalThis} View the window of the iframe */

/**
 * Replaces network and storage of a window.
 * @param {View} view
 * @param {string} workspace
 * @param {WidgetConfig} config
 * @param {string} state of the preview
 */
export function mockGateway(view, workspace, config, state) {
  const hasConversation = state === 'open' || state === 'phone';
  view.fetch = async (address) => answer(view, String(address), config);
  define(view, 'WebSocket', class extends MockSocket {
    constructor() { super(hasConversation ? example() : []); }
  });
  define(view, 'localStorage', memory(
    hasConversation ? { [`chirrup:${workspace}`]: JSON.stringify(identity()) } : {},
  ));
  define(view, 'sessionStorage', memory());
  define(view, 'indexedDB', undefined); // the outbox then uses the storage above
  define(view, 'AudioContext', undefined);
}

/**
 * @param {View} view
 * @param {string} name
 * @param {unknown} value
 */
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

/**
 * @param {View} view
 * @param {string} address
 * @param {WidgetConfig} config
 */
function answer(view, address, config) {
  /** @type {(value: object | null, status?: number) => Response} */
  const json = (value, status = 200) => new view.Response(
    value === null ? null : JSON.stringify(value),
    { status, headers: { 'content-type': 'application/json' } },
  );
  if (address.includes('/config')) return json(config);
  if (address.includes('/token')) return json(identity());
  if (address.includes('/profile')) return json({ visitor: VISITOR });
  if (address.includes('/offline')) return json({}, 201);
  if (address.includes('/rating')) return json(null, 204);
  return json({ type: 'urn:chirrup:problem:not_found', title: 'Not found', status: 404 }, 404);
}

/**
 * A storage like localStorage. The widget reads and writes its properties.
 * @param {Record<string, string>} entries
 * @returns {Record<string, string>}
 */
const memory = (entries = {}) => ({ ...entries });

class MockSocket {
  readyState = 0;
  /** @type {(() => void)?} */
  onopen = null;
  /** @type {((event: {data: string}) => void)?} */
  onmessage = null;
  /** @type {((event: {code: number}) => void)?} */
  onclose = null;
  #entries;

  /** @param {Entry[]} entries of the conversation */
  constructor(entries) {
    this.#entries = entries;
    setTimeout(() => { this.readyState = 1; this.onopen?.(); });
  }

  close(code = 1000) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    setTimeout(() => this.onclose?.({ code }));
  }

  /** @param {string} text a frame */
  send(text) {
    const frame = JSON.parse(text);
    const at = new Date().toISOString();
    const { ref, session } = frame;
    const last = () => this.#entries.at(-1)?.seq ?? 0;
    switch (frame.type) {
      case Command.hello:
        return this.#answer({
          type: Event.welcome,
          ref,
          you: VISITOR,
          node: 'preview',
          now: at,
          heartbeat: { interval_ms: 86_400_000, timeout_ms: 86_400_000 },
        });
      case Command.subscribe:
        this.#answer({
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
        for (const entry of this.#entries) this.#answer({ type: Event.message, session, ...entry });
        return this.#answer({ type: Event.live, session, seq: last() });
      case Command.send: {
        const { id, kind = Kind.text, body, payload } = frame;
        const entry = { seq: last() + 1, id, sender: VISITOR, kind, body, payload, at };
        this.#entries.push(entry);
        this.#answer({ type: Event.ack, ref, session, id, seq: entry.seq, at });
        return this.#answer({ type: Event.message, session, ...entry });
      }
      case Command.history:
        return this.#answer({ type: Event.ok, ref, messages: [], more: false });
      default:
        if (ref != null) this.#answer({ type: Event.ok, ref });
    }
  }

  /** @param {ServerFrame} frame */
  #answer(frame) {
    setTimeout(() => this.readyState === 1 && this.onmessage?.({ data: JSON.stringify(frame) }));
  }
}

/**
 * The entries of an example conversation.
 * @returns {Entry[]}
 */
function example() {
  /** @param {number} minutes */
  const at = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  return [
    {
      seq: 1,
      id: '00000000-0000-7000-8000-000000000011',
      sender: VISITOR,
      kind: Kind.text,
      body: t('Hello, my chain skips.'),
      at: at(4),
    },
    {
      seq: 2,
      id: '00000000-0000-7000-8000-000000000012',
      sender: MIKA,
      kind: Kind.text,
      body: t('Is it an older bicycle, or one you bought this year?'),
      at: at(2),
    },
  ];
}
