// A client of chirrup.v1 on node's WebSocket, which is the browsers' one: hello, subscribe, send, resume.
//
// client_node.mjs URL VISITOR OPERATOR: the last two as `chirrup token` prints them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const [url, visitor, operator] = [
  process.argv[2], JSON.parse(process.argv[3]), JSON.parse(process.argv[4]),
];
const session = visitor.session;

/** One connection: `until` resolves with the next frame that has these fields. */
async function dial(token, after) {
  const socket = new WebSocket(url, ["chirrup.v1"]);
  const frames = [];
  let wake = () => {};
  socket.onmessage = (event) => {
    frames.push(...event.data.split("\n").map((line) => JSON.parse(line)));
    wake();
  };
  socket.onclose = () => wake();
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("no connection"));
  });
  assert.equal(socket.protocol, "chirrup.v1");
  const client = {
    socket,
    say: (command) => socket.send(JSON.stringify(command)),
    async until(fields) {
      for (;;) {
        while (frames.length > 0) {
          const frame = frames.shift();
          if (Object.entries(fields).every(([key, value]) => frame[key] === value)) return frame;
          assert.notEqual(frame.type, "error", JSON.stringify(frame));
        }
        assert.equal(socket.readyState, WebSocket.OPEN, "closed while waiting");
        await new Promise((resolve) => { wake = resolve; });
      }
    },
    send(body, id = randomUUID()) {
      client.say({ type: "send", ref: id.slice(0, 8), session, id, body });
      return client.until({ type: "ack", id });
    },
  };
  client.say({ type: "hello", ref: 1, token });
  await client.until({ type: "welcome", ref: 1 });
  client.say({ type: "subscribe", ref: 2, session, after });
  const subscribed = await client.until({ type: "subscribed", ref: 2 });
  assert.equal(subscribed.from, after + 1);
  return client;
}

setTimeout(() => { console.error("no end after 120 s"); process.exit(1); }, 120_000).unref();

const guest = await dial(visitor.token, 0);
const agent = await dial(operator.token, 0);
await guest.until({ type: "live" });
await agent.until({ type: "live" });

let seq = 0;
for (const body of ["Hello from node", "สวัสดี 🙂 مرحبا", "ก".repeat(1365)]) {
  for (const [sender, receiver] of [[guest, agent], [agent, guest]]) {
    const ack = await sender.send(body);
    const message = await receiver.until({ type: "message", id: ack.id });
    assert.equal(message.body, body);
    assert.equal(message.seq, ack.seq);
    assert.ok(ack.seq > seq);
    seq = ack.seq;
  }
}
const once = await guest.send("once");
const twice = await guest.send("once", once.id);
assert.equal(twice.seq, once.seq);
assert.equal(twice.duplicate, true);

guest.socket.close(1000);
const missed = [await agent.send("one"), await agent.send("two")];
const returned = await dial(visitor.token, once.seq);
for (const ack of missed) {
  const message = await returned.until({ type: "message" });
  assert.deepEqual([message.seq, message.id], [ack.seq, ack.id]);
}
assert.equal((await returned.until({ type: "live" })).seq, missed.at(-1).seq);
returned.socket.close(1000);
agent.socket.close(1000);
