// The pages before the operations: how to begin, and the rules that hold for all.

import { el } from '../shared/dom.js';
import { prose } from './operation.js';
import { json, sample } from './samples.js';

/** @typedef {import('./reference.js').Reference} Reference */
/** @typedef {{id: string, title: string, body: (reference: Reference) => (Node | null)[]}} Guide */

/** @param {string} words */
const p = (words) => el('p', {}, prose(words));

/** @param {string} code */
const shell = (code) => sample('Example', [{ label: 'curl', code: [code] }]);

/** @type {Guide[]} */
export const guides = [
  {
    id: 'getting-started', title: 'Getting started',
    body: ({ server }) => [
      p('The API speaks JSON over HTTPS. Its paths begin with `/api/v1`; the server is the gateway '
        + 'that shows this page.'),
      el('h2', {}, 'The server'), el('p', {}, el('code', {}, server)),
      el('h2', {}, 'The first request'),
      p('Make a key in the console (Settings, API keys) with the scope `conversations:read`. Then:'),
      shell(`curl '${server}/api/v1/admin/live-chat/conversations?limit=1' \\\n`
        + '  -H "Authorization: Bearer $CHIRRUP_KEY"'),
      el('h2', {}, 'Live events'),
      p('Messages arrive over the WebSocket `/api/v1/ws` (the protocol chirrup.v1), or as webhooks. '
        + 'This reference is made from openapi.json, which code generators can read, too.'),
    ],
  },
  {
    id: 'keys-and-scopes', title: 'Keys and scopes',
    body: (reference) => [
      p('A key is sent as `Authorization: Bearer ck_…`. It does what its scopes allow, up to the '
        + 'role admin, in its own workspace. What it writes carries its name, and the audit log '
        + 'names it. A key that is revoked is refused at once.'),
      p('An operator’s token has no scopes; the operator’s role counts. Operations without a scope '
        + 'refuse keys.'),
      el('h2', {}, 'Scopes'),
      el('dl.params', {}, scopes(reference).map(([scope, count]) => el('div', {},
        el('dt', {}, el('b', {}, scope)), el('dd', {}, `${count} operations`)))),
    ],
  },
  {
    id: 'errors', title: 'Errors',
    body: () => [
      p('Every error is `application/problem+json` (RFC 9457). Programs read `type`, which never '
        + 'changes; people read `detail`, which tells what happened and what to do. `pointer` names '
        + 'the member of the body that is wrong. What failed was not stored.'),
      sample('Example error', [{
        label: '409 Conflict', failed: true,
        code: json({
          type: 'urn:chirrup:problem:session_closed', title: 'Conversation closed', status: 409,
          detail: 'This conversation is closed. Reopen it first.',
        }),
      }]),
      p('After 429 and 503, wait for the seconds of `Retry-After`. `RateLimit` tells how much '
        + 'remains.'),
    ],
  },
  {
    id: 'pages-and-cursors', title: 'Pages and cursors',
    body: ({ server }) => [
      p('A list has at most `limit` rows. If more follow, `next_cursor` is a text: send it as '
        + '`cursor`, with the same filters. Null: that was the last page. Rows that are added in '
        + 'the meantime neither repeat nor hide others.'),
      shell(`curl '${server}/api/v1/admin/members?limit=100&cursor=…' \\\n`
        + '  -H "Authorization: Bearer $CHIRRUP_KEY"'),
    ],
  },
  {
    id: 'sending-twice', title: 'Sending twice safely',
    body: () => [
      p('A write with an `Idempotency-Key` of your choice takes effect once within 24 hours. The '
        + 'same key with the same request gets the first answer again, marked '
        + '`Idempotency-Replayed: true`; with another request it is refused (422). So repeat a '
        + 'write whose answer was lost, with its key.'),
      p('A message may also have an `id` of its own, best a UUID of version 7: the same id with the '
        + 'same words is answered with 200 and stored once.'),
    ],
  },
];

/** @param {Reference} reference @returns {[string, number][]} */
function scopes({ operations }) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { 'x-scope': scope } of operations.values()) {
    if (scope) found.set(scope, (found.get(scope) ?? 0) + 1);
  }
  return [...found].sort();
}
