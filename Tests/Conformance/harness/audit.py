"""Compares the tables with the acknowledgements and the events that the clients received."""

import collections


def read_log(store, sessions, database="postgres"):
    """Returns the stored log of each session and its counter: {session: ([(seq, id, body)], last_seq)}."""
    wanted = ",".join(f"'{session}'" for session in sessions)
    heads = dict(store.query(f"SELECT id, last_seq FROM chat_sessions WHERE id IN ({wanted})", database))
    log = {session: ([], int(heads.get(session, -1))) for session in sessions}
    for session, seq, id, body in store.query(
            f"SELECT session_id, seq, id, content FROM chats WHERE session_id IN ({wanted}) ORDER BY session_id, seq",
            database):
        log[session][0].append((int(seq), id, body))
    return log


def audit(log, clients, bodies, is_settled=True):
    """Returns the violations as sentences. `is_settled`: everything was acked and delivered, so it must be stored."""
    wrong = [f"{client.name} {text}" for client in clients for text in client.violations]
    place = {}
    for session, (entries, head) in log.items():
        seqs = [seq for seq, _, _ in entries]
        if seqs != list(range(1, len(seqs) + 1)):
            wrong.append(f"{session}: the numbers are not 1 to {len(seqs)}")
        if head != len(seqs):
            wrong.append(f"{session}: last_seq is {head} over {len(seqs)} rows")
        claims = 0
        for seq, id, body in entries:
            if id in place:
                wrong.append(f"{id} is stored twice")
            place[id] = (session, seq)
            if id not in bodies and body.endswith(" joined"):
                claims += 1  # the first reply of an operator has claimed the conversation
            elif id not in bodies:
                wrong.append(f"{session} has at {seq} a message that no client sent")
            elif body != bodies[id]:
                wrong.append(f"{id} is stored with another body")
        if claims > 1:
            wrong.append(f"{session} was claimed {claims} times")
        texts = collections.Counter(body for _, _, body in entries)
        wrong += [f"{session}: one message has {count} rows" for count in texts.values() if count > 1]
    for client in clients:
        wrong += audit_client(client, log[client.session][0], place, is_settled)
    return wrong


def audit_client(client, entries, place, is_settled):
    wrong = []
    for id, seq in client.acks.items():
        if id not in place:
            wrong.append(f"{client.name}: {id} was acked at {seq} and is lost")
        elif place[id] != (client.session, seq):
            wrong.append(f"{client.name}: {id} was acked at {seq} and is stored at {place[id][1]}")
    stored = [id for id in client.made if id in place]
    if is_settled and len(stored) < len(client.made):
        wrong.append(f"{client.name}: {len(client.made) - len(stored)} of its messages are not stored")
    order = [place[id][1] for id in stored]
    if order != sorted(order):
        wrong.append(f"{client.name}: its messages are stored in another order")
    truth = [id for _, id, _ in entries]
    if client.view != truth[:len(client.view)]:
        first = next((n for n, pair in enumerate(zip(client.view, truth)) if pair[0] != pair[1]), len(truth))
        wrong.append(f"{client.name}: its events differ from the table at {first + 1}")
    if is_settled and len(client.view) < len(truth):
        wrong.append(f"{client.name}: was shown {len(client.view)} of {len(truth)}")
    return wrong


def judge(trial, crowd, store, database="postgres", seconds=60):
    """Waits until all messages are acked and delivered, and adds the violations to the trial's failures."""
    crowd.settle(seconds * trial.scale)
    wrong = audit(read_log(store, crowd.sessions, database), crowd.clients, crowd.bodies)
    trial.note(crowd.summary())
    for text in wrong[:8]:
        trial.check(False, text)
    if len(wrong) > 8:
        trial.check(False, f"and {len(wrong) - 8} more")
    return wrong
