// The visitor of visitor.mjs in a terminal: sends each line of its input, prints what arrives, and keeps its state in a
// file, so that it continues after an end of any kind.
//
//   node --experimental-websocket visitor-terminal.mjs http://127.0.0.1:8080 PUBLIC_KEY state.json

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Visitor } from './visitor.mjs';

const [base, workspace, file] = process.argv.slice(2);
let state = {};
try { state = JSON.parse(readFileSync(file)); } catch { /* the first visit */ }
const visitor = new Visitor(base, workspace, state, {
  changed(changed) {
    writeFileSync(`${file}.new`, JSON.stringify(changed));
    renameSync(`${file}.new`, file);
  },
  message: ({ seq, sender, body }) => console.log(`${seq} ${sender?.kind ?? 'hidden'}: ${body ?? ''}`),
  failed: (id, code) => console.log(`failed: ${id} ${code}`),
  reset: () => console.log('reset'),
  stopped(reason) {
    console.log(`stopped: ${reason}`);
    process.exit(1);
  },
});
createInterface({ input: process.stdin }).on('line', (line) => visitor.send(line));
