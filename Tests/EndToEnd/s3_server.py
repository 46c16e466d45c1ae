"""A server of the S3 protocol for tests: moto's, which checks every signature with Amazon's own code (botocore).

  s3_server.py [--certificate FILE --key FILE]

Prints a line of JSON (endpoint, bucket, access_key, secret_key, and the keys of a user without rights), then serves
until its standard input ends. PUT /_faults with {"status", "code", "times", "method"?, "path"?} lets it refuse the next
requests; GET /_seen lists the requests; GET /_objects and GET /_uploads list what the bucket holds.
"""

import argparse
import json
import os
import select
import threading

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "inf"

import boto3  # noqa: E402: moto reads its settings when it is imported
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app  # noqa: E402
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402

BUCKET = "chirrup-attachments"


class Faults:
    """In front of moto: refuses requests when a test wants it, and remembers what came."""

    def __init__(self, app):
        self.app, self.lock, self.seen, self.planned, self.client = app, threading.Lock(), [], [], None

    def __call__(self, environ, start_response):
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path.startswith("/_"):
            return self.control(path, environ, start_response)
        if path.startswith("/moto-api"):
            return self.app(environ, start_response)
        with self.lock:
            self.seen.append(f"{method} {path}?{environ.get('QUERY_STRING', '')}".rstrip("?"))
            fault = next((it for it in self.planned if it["times"] > 0 and it.get("method", method) == method
                          and it.get("path", "") in path + "?" + environ.get("QUERY_STRING", "")), None)
            if fault:
                fault["times"] -= 1
        if not fault:
            return self.app(environ, start_response)
        body = f"<Error><Code>{fault['code']}</Code><Message>planned</Message></Error>".encode()
        if fault["status"] >= 400:  # the request's body is read, so that the connection can go on
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(f"{fault['status']} Planned", [("Content-Type", "application/xml"),
                                                      ("Content-Length", str(len(body)))])
        return [body]

    def control(self, path, environ, start_response):
        if path == "/_faults":
            self.planned = [json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))]
            answer = {}
        elif path == "/_seen":
            answer, self.seen = self.seen, []
        elif path == "/_objects":
            listed = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
            answer = {it["Key"]: it["Size"] for it in listed}
        else:
            answer = [it["Key"] for it in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]
        body = json.dumps(answer).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


def make_users(endpoint, verify):
    """The bucket, a user who may do everything in it, and one who may do nothing."""
    root = {"endpoint_url": endpoint, "region_name": "eu-central-1", "verify": verify,
            "aws_access_key_id": "root", "aws_secret_access_key": "root"}
    boto3.client("s3", **root).create_bucket(
        Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    iam, keys = boto3.client("iam", **root), {}
    for user in ("gateway", "nobody"):
        iam.create_user(UserName=user)
        made = iam.create_access_key(UserName=user)["AccessKey"]
        keys[user] = (made["AccessKeyId"], made["SecretAccessKey"])
    iam.put_user_policy(UserName="gateway", PolicyName="all", PolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
    return keys, root


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    given = parser.parse_args()
    faults = Faults(DomainDispatcherApplication(create_backend_app))
    tls = (given.certificate, given.key) if given.certificate else None
    server = make_server("127.0.0.1", 0, faults, threaded=True, request_handler=Quiet, ssl_context=tls)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"{'https' if tls else 'http'}://localhost:{server.server_port}"
    keys, root = make_users(endpoint, given.certificate)
    # From now on every request must be signed by one of the users.
    boto3.session.Session()  # loads the credentials' code before the switch
    import moto.settings
    moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    root["aws_access_key_id"], root["aws_secret_access_key"] = keys["gateway"]
    faults.client = boto3.client("s3", **root)
    print(json.dumps({
        "endpoint": endpoint, "bucket": BUCKET, "access_key": keys["gateway"][0], "secret_key": keys["gateway"][1],
        "other_access_key": keys["nobody"][0], "other_secret_key": keys["nobody"][1]}), flush=True)
    # Standard input may be a socket that does not block.
    while select.select([0], [], []) and os.read(0, 1_024):
        pass


main()
