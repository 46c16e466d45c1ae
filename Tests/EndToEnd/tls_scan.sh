#!/usr/bin/env bash
# The TLS listener before the scanners sslscan and testssl.sh, and with the library of OpenSSL 3.5, which has the hybrid
# key exchange X25519MLKEM768. A wheel of PyPI carries that library; the program itself is the same.
. "$(dirname "$0")/lib.sh"

new_folder
secure=$(free_port)

# An authority, and a certificate of it, so that no finding is about the certificate.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=Authority of the test" \
  -addext "keyUsage=critical,keyCertSign,cRLSign" -keyout "$work/authority.key" -out "$work/authority.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=localhost" \
  -keyout "$work/key.pem" -out "$work/request.pem" 2>/dev/null
chmod 600 "$work/key.pem"
cat >"$work/extensions" <<'END'
subjectAltName = DNS:localhost, IP:127.0.0.1
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
crlDistributionPoints = URI:http://crl.example/authority.crl
END
openssl x509 -req -in "$work/request.pem" -CA "$work/authority.pem" -CAkey "$work/authority.key" -days 90 \
  -extfile "$work/extensions" -out "$work/chain.pem" 2>/dev/null
settings=(--tls-listen "127.0.0.1:$secure" --tls-certificates "$work/chain.pem" --tls-keys "$work/key.pem")
start_gateway "${settings[@]}"

is_clean_for_sslscan() {
  sslscan --no-colour --no-failed "127.0.0.1:$secure" >"$work/sslscan"
  grep --quiet --extended-regexp '^TLSv1\.3 +enabled' "$work/sslscan" &&
    ! grep --extended-regexp \
      '^(SSLv[23]|TLSv1\.[01]) +enabled|vulnerable to heartbleed$|Compression enabled|Insecure|renegotiation allowed| (0|40|56|112) bits ' \
      "$work/sslscan" | grep --invert-match 'not vulnerable'
}

# The findings of testssl.sh that are no OK and no information. CAA is a record of DNS; engine_problem is about the
# scanner's own openssl, which may lack GOST.
testssl_findings() {
  rm -f "$work/testssl.json"
  testssl --quiet --color 0 --warnings off --add-ca "$work/authority.pem" --jsonfile "$work/testssl.json" \
    --protocols --std --pfs --server-preference --server-defaults --headers --vulnerable \
    "localhost:$secure" >"$work/testssl" 2>&1 || true
  "$python" - "$work/testssl.json" <<'END'
import json, sys

findings = json.load(open(sys.argv[1]))
assert len(findings) > 60, f"only {len(findings)} findings: {findings[-3:]}"
for finding in findings:
    if finding["severity"] not in ("OK", "INFO") and finding["id"] not in ("DNS_CAArecord", "engine_problem"):
        print(finding["id"], finding["severity"], finding["finding"])
END
}
# On a busy machine the scanner's client may exceed its own time limit; then the scan is repeated, at most twice.
is_clean_for_testssl() {
  local scan
  for scan in 1 2 3; do
    testssl_findings >"$work/findings" || return 1
    grep --quiet 'check failed because of connect problem' "$work/findings" || break
    [ $scan = 3 ] || echo "testssl.sh could not connect; it is started again" >&2
  done
  [ ! -s "$work/findings" ] || {
    cat "$work/findings" >&2
    return 1
  }
}
check "sslscan finds nothing weak" is_clean_for_sslscan
check "testssl.sh finds nothing below OK" is_clean_for_testssl
stop_gateway

# exchange GROUPS: a request over TLS; prints the size of the server's handshake.
exchange() {
  printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' |
    timeout 20 openssl s_client -connect "127.0.0.1:$secure" -ign_eof -CAfile "$work/authority.pem" \
      -verify_return_error -groups "$1" >"$work/exchange" 2>&1 &&
    grep --quiet '200 OK' "$work/exchange" &&
    sed -n 's/^SSL handshake has read \([0-9]*\) bytes.*/\1/p' "$work/exchange"
}
library=$("$python" - <<'END'
import glob, importlib.util, os

place = importlib.util.find_spec("psycopg2")
folder = os.path.join(os.path.dirname(os.path.dirname(place.origin)), "psycopg2_binary.libs") if place else ""
found = [glob.glob(os.path.join(folder, f"{name}-*.so.3")) for name in ("libssl", "libcrypto")]
print(" ".join(one[0] for one in found if one))
END
)
read -r libssl libcrypto <<<"$library"
[ -n "$libcrypto" ] || die "the wheel psycopg2-binary of scripts/requirements.txt has no library of OpenSSL"
mkdir "$work/library"
ln -s "$libssl" "$work/library/libssl.so.3"
ln -s "$libcrypto" "$work/library/libcrypto.so.3"
export LD_LIBRARY_PATH=$work/library
case $(openssl version) in
*"Library: OpenSSL 3.0"*) die "the wheel's OpenSSL is too old: $(openssl version)" ;;
esac
start_gateway "${settings[@]}"

# The answer to a hybrid key share has 1,088 bytes of ML-KEM-768 more.
is_hybrid() {
  local hybrid classic
  hybrid=$(exchange X25519MLKEM768:X25519) && classic=$(exchange X25519) || return 1
  [ $((hybrid - classic)) -ge 1000 ]
}
serves() { exchange "$1" >/dev/null; }
check "a client that has only X25519MLKEM768 is served" serves X25519MLKEM768
check "a client without it is served" serves P-256
check "a client that has both gets the hybrid" is_hybrid
stop_gateway

[ $failures = 0 ]
