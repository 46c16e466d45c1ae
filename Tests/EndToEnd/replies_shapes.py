"""Replies as mail programs write them, and as nobody should: bytes for a Maildir, and the text of the conversation."""

import base64
import email.policy
import struct
import zlib
from email.message import EmailMessage

MARKER = "--- Reply above this line ---"
HEAD = "On Thu, Nov 26, 2026 at 10:12 AM Ann at Tidewater Cycles <chat@gateway.example>"
QUOTED = f"> {MARKER}\n>\n> Hello Ada,\n>\n> You left before we were done, so here is our answer.\n"


PDF = b"%PDF-1.4\n" + bytes(range(256)) * 400 + b"\n%%EOF\n"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


# Of 8 x 8 pixels.
PNG = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
       + chunk(b"IDAT", zlib.compress((b"\0" + b"\x20\x60\xa0" * 8) * 8)) + chunk(b"IEND", b""))


def head(to: str, number: str, author: str = "ada@example.org", **fields: str) -> bytes:
    """The header of a message; a value of None leaves a field out."""
    values = {"From": f"Ada <{author}>", "To": to, "Subject": "Re: Your question to Tidewater Cycles",
              "Message-ID": f"<{number}@mailer.example>", "MIME-Version": "1.0",
              **{name.replace("_", "-"): value for name, value in fields.items()}}
    return b"".join(f"{name}: {value}\r\n".encode() for name, value in values.items() if value is not None)


def plain(to: str, number: str, text: str, charset="utf-8", author="ada@example.org", **fields) -> bytes:
    return (head(to, number, author, Content_Type=f"text/plain; charset={charset}",
                 Content_Transfer_Encoding="8bit", **fields)
            + b"\r\n" + text.replace("\n", "\r\n").encode(charset))


def gmail(to: str, number: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "Ada <ada@example.org>", to
    message["Message-ID"] = f"<{number}@mail.gmail.example>"
    message.set_content(f"the reply of gmail\n\nOn Thu, Nov 26, 2026 at 10:12 AM Ann at Tidewater Cycles <\n"
                        f"chat@gateway.example> wrote:\n\n{QUOTED}")
    message.add_alternative(f'<div dir="ltr">the reply of gmail</div><div class="gmail_quote">{HEAD} wrote:</div>',
                            subtype="html")
    return message.as_bytes(policy=email.policy.SMTP)


def nested(to: str, number: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Message-ID"] = "Ada <ada@example.org>", to, f"<{number}@mailer.example>"
    message.set_content("the reply of nested parts\n")
    message.add_alternative("<p>the reply of nested parts <img src='cid:logo'></p>", subtype="html")
    message.get_payload()[1].add_related(PNG, "image", "png", cid="<logo>", filename="logo.png")
    message.add_attachment(PDF, maintype="application", subtype="pdf", filename="Rechnung größer.pdf")
    return message.as_bytes(policy=email.policy.SMTP)


def files(to: str, number: str, author: str, text: str, *named: tuple) -> bytes:
    """A text, and files of (name, bytes)."""
    message = EmailMessage()
    message["From"], message["To"], message["Message-ID"] = f"Ada <{author}>", to, f"<{number}@mailer.example>"
    message.set_content(text)
    for name, content in named:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes(policy=email.policy.SMTP)


def multipart(to: str, number: str, body: bytes, boundary: str = "b") -> bytes:
    return head(to, number, Content_Type=f'multipart/mixed; boundary="{boundary}"') + b"\r\n" + body


def deep(to: str, number: str) -> bytes:
    """1,000 multiparts, each in the one before."""
    body = b"".join(b"--b%d\r\nContent-Type: multipart/mixed; boundary=\"b%d\"\r\n\r\n" % (level, level + 1)
                    for level in range(1_000))
    return multipart(to, number, body + b"--b1000\r\n\r\nthe bottom\r\n", "b0")


def wide(to: str, number: str) -> bytes:
    """1,000 parts beside each other."""
    parts = b"".join(b"--b\r\nContent-Type: image/png; name=\"%d.png\"\r\n\r\nx\r\n" % part for part in range(999))
    return multipart(to, number, b"--b\r\n\r\nthe reply of 1,000 parts\r\n" + parts + b"--b--\r\n")


def shapes(to: str) -> list:
    """(name, bytes, the texts of the conversation)."""
    # The first ten are no pictures, and the multipart is one of 1,000 parts.
    left = "[998 files were left out: " + ", ".join(f"{part}.png" for part in range(10, 15)) + ", …]"
    html = ("<html><head><style>p {margin:0}</style></head><body><p class=MsoNormal>the reply of Outlook&nbsp;in "
            "HTML</p><div style='border-top:solid 1pt'><p class=MsoNormal><b>From:</b> Ann &lt;chat@gateway.example&gt;"
            "<br><b>Sent:</b> Thursday, November 26, 2026 10:12 AM<br><b>To:</b> Ada</p></div><p>Hello Ada,</p></body>")
    outlook = ("the reply of Outlook, größer\n\n________________________________\n"
               "From: Ann <chat@gateway.example>\n"
               f"Sent: Thursday, November 26, 2026 10:12 AM\nTo: Ada\nSubject: Question\n\n{MARKER}\n\nHello\n")
    apple = ("the reply of Apple\n\nSent from my iPhone\n\n"
             "> On 26 Nov 2026, at 10:12, Ann <chat@gateway.example> wrote:\n"
             f"> \n{QUOTED}")
    between = "> Which size?\n\nThe 54.\n\n> Which colour?\n\nthe reply between quotations"
    japanese = "返信です。ありがとう"
    long = "".join(f"the reply of a long text, line {line}\n" for line in range(1_200)).rstrip("\n")
    made = [
        ("Gmail", gmail(to, "gmail"), "the reply of gmail"),
        ("Outlook", plain(to, "outlook", outlook, "windows-1252"), "the reply of Outlook, größer"),
        ("Outlook in HTML", head(to, "html", Content_Type="text/html; charset=us-ascii") + b"\r\n" + html.encode(),
         "the reply of Outlook in HTML"),
        ("Apple Mail", plain(to, "apple", apple), "the reply of Apple\n\nSent from my iPhone"),
        ("Thunderbird, in German",
         plain(to, "german", f"the reply of Müller\n\nAm 26.11.2026 um 10:12 schrieb Ann:\n{QUOTED}"),
         "the reply of Müller"),
        ("a language that is not known",
         plain(to, "finnish", f"the reply of Aino\n\nAnn kirjoitti 26.11.2026 klo 10.12:\n\n{MARKER}\n\nHello Ada,\n"),
         "the reply of Aino"),
        ("answers between quotations", plain(to, "between", between), between),
        ("a quotation only", plain(to, "only", "> the reply of a quotation"), "> the reply of a quotation"),
        ("a signature", plain(to, "signature", "the reply of Ada\n\n-- \nAda Lovelace\nAnalytical Engines\n"),
         "the reply of Ada"),
        ("Latin-1 that is called UTF-8",
         head(to, "latin", Content_Type="text/plain; charset=utf-8") + b"\r\nthe reply of gr\xf6\xdfe\r\n",
         "the reply of größe"),
        ("UTF-8 that is called Latin-1", plain(to, "utf", "x", Content_Language="de").replace(
            b"charset=utf-8", b"charset=iso-8859-1").replace(b"\r\n\r\nx", "\r\n\r\nthe reply of größe 🚲".encode()),
         "the reply of größe 🚲"),
        ("a charset that nobody knows", plain(to, "wrong", "the reply of no charset", "utf-8").replace(
            b"charset=utf-8", b"charset=x-made-up"), "the reply of no charset"),
        ("ISO-2022-JP", head(to, "japanese", Content_Type="text/plain; charset=iso-2022-jp",
                             Content_Transfer_Encoding="base64") + b"\r\n"
         + base64.encodebytes(japanese.encode("iso-2022-jp")), japanese),
        ("8-bit headers",
         b"X-Name: Gr\xf6\xdfe\r\nSubject: R\xe9: \xff\xfe\r\n" + plain(to, "eight", "the reply of bytes"),
         "the reply of bytes"),
        ("nested parts", nested(to, "nested"),
         "the reply of nested parts"),
        ("1,000 parts", wide(to, "wide"), f"the reply of 1,000 parts\n\n{left}"),
        ("a boundary that is missing", multipart(to, "missing", b"--b\r\n\r\nthe reply of half a message\r\n"),
         "the reply of half a message"),
        ("a header of 3 MB", head(to, "huge", X_Junk="j" * 3_000_000) + b"\r\nthe reply of a large header\r\n",
         "the reply of a large header"),
        ("no Message-ID", plain(to, "none", "the reply of nobody", Message_ID=None), "the reply of nobody"),
        # Not NUL: a mailbox has none (RFC 3501 §4.3.1), Dovecot stores 0x80 for it.
        ("control characters", head(to, "control") + b"\r\nthe reply\1 of \x1b[31mcontrols\x7f\r\n",
         "the reply of [31mcontrols"),
        ("a token in capitals", plain(to.upper(), "capitals", "the reply of capitals"), "the reply of capitals"),
    ]
    return [(name, message, [text]) for name, message, text in made] + [
        ("a long text", plain(to, "long", long), [long[at:at + 16_384] for at in range(0, len(long), 16_384)])]
