"""Checks the platform of line_platform.py with LINE's official SDK (line-bot-sdk): its parser of webhooks accepts what
the platform sends, and its client talks to the platform.
"""

import secrets
import uuid

from line_menus import png
from line_platform import Platform
from linebot.v3 import WebhookParser
from linebot.v3.exceptions import InvalidSignatureError
from linebot.v3.messaging import (
    ApiClient, ApiException, Configuration, MessagingApi, MessagingApiBlob, PostbackAction, PushMessageRequest,
    ReplyMessageRequest, RichMenuArea, RichMenuBounds, RichMenuRequest, RichMenuSize, TextMessage,
)
from linebot.v3.webhooks import (
    AudioMessageContent, FileMessageContent, FollowEvent, ImageMessageContent, LocationMessageContent, MessageEvent,
    PostbackEvent, StickerMessageContent, TextMessageContent, UnfollowEvent, VideoMessageContent,
)


def all_events(platform: Platform, friend) -> list[tuple[dict, type, type | None]]:
    """One event of each kind, with the SDK's types of the event and of its message."""
    provider = {"type": "line"}
    message = platform.message
    return [
        (platform.text(friend, "สวัสดี 🎉"), MessageEvent, TextMessageContent),
        (message(friend, "sticker", packageId="446", stickerId="1988", stickerResourceType="STATIC",
                 keywords=["happy"], quoteToken="q"), MessageEvent, StickerMessageContent),
        (message(friend, "image", contentProvider=provider, quoteToken="q"), MessageEvent, ImageMessageContent),
        (message(friend, "video", duration=60_000, contentProvider=provider, quoteToken="q"), MessageEvent,
         VideoMessageContent),
        (message(friend, "audio", duration=60_000, contentProvider=provider), MessageEvent, AudioMessageContent),
        (message(friend, "file", fileName="bill.pdf", fileSize=2138), MessageEvent, FileMessageContent),
        (message(friend, "location", title="Shop", address="1 Silom Rd", latitude=13.72, longitude=100.53),
         MessageEvent, LocationMessageContent),
        (platform.event(friend, "postback", postback={"data": "order=7"}), PostbackEvent, None),
        (platform.event(friend, "follow", follow={"isUnblocked": False}), FollowEvent, None),
        (platform.event(friend, "unfollow"), UnfollowEvent, None),
    ]


def refused(status: int, call) -> bool:
    try:
        call()
    except ApiException as fault:
        return fault.status == status
    return False


def check_menus(platform: Platform, api: MessagingApi, blob: MessagingApiBlob, promise) -> None:
    """The life of a rich menu, with the SDK's own objects."""
    area = RichMenuArea(bounds=RichMenuBounds(x=0, y=0, width=800, height=400),
                        action=PostbackAction(label="One", data="one"))
    made = RichMenuRequest(size=RichMenuSize(width=800, height=400), selected=False, name="SDK", chatBarText="Menu",
                           areas=[area])
    id_ = api.create_rich_menu(made).rich_menu_id
    promise("the SDK makes a rich menu, and lists it",
            [it.name for it in api.get_rich_menu_list().richmenus] == ["SDK"])
    promise("one without a picture is no default", refused(400, lambda: api.set_default_rich_menu(id_)))
    headers = {"Content-Type": "image/png"}
    promise("a picture of another size is refused", refused(400, lambda: blob.set_rich_menu_image(
        id_, body=png(1200, 600), _headers=headers)))
    blob.set_rich_menu_image(id_, body=png(800, 400), _headers=headers)
    promise("a picture is taken once", refused(400, lambda: blob.set_rich_menu_image(
        id_, body=png(800, 400), _headers=headers)))
    promise("there is no default at first", refused(404, api.get_default_rich_menu_id))
    api.set_default_rich_menu(id_)
    promise("the SDK reads the default", api.get_default_rich_menu_id().rich_menu_id == id_)
    api.cancel_default_rich_menu()
    api.delete_rich_menu(id_)
    promise("the SDK removes both", api.get_rich_menu_list().richmenus == []
            and refused(404, api.get_default_rich_menu_id) and refused(404, lambda: api.delete_rich_menu(id_)))
    for fault in ({"size": RichMenuSize(width=700, height=400)}, {"size": RichMenuSize(width=800, height=700)}):
        broken = made.copy(update=fault)
        promise(f"a rich menu of {fault['size'].width} × {fault['size'].height} is refused",
                refused(400, lambda broken=broken: api.create_rich_menu(broken)))


def check_contents(platform: Platform, api: MessagingApi, blob: MessagingApiBlob, promise) -> None:
    """What people send, and the quota."""
    friend = platform.friend("SDK contents")
    event = platform.message(friend, "video", duration=1, contentProvider={"type": "line"})
    id_ = event["message"]["id"]
    promise("a content that the platform has not is 404", refused(404, lambda: blob.get_message_content(id_)))
    data = secrets.token_bytes(200_001)
    platform.contents.put(event, data, "video/mp4", transcoding=["processing", "failed"])
    states = [blob.get_message_content_transcoding_by_message_id(id_).status for _ in range(3)]
    promise(f"the SDK reads how far a video is: {states}", states == ["processing", "failed", "succeeded"])
    promise("and its bytes", bytes(blob.get_message_content(id_)) == data)
    platform.contents.all[id_].refusals = [410]
    promise("one that is deleted is 410", refused(410, lambda: blob.get_message_content(id_)))
    promise("without a limit the quota has the type none", api.get_message_quota().type == "none")
    platform.quota, platform.pushed = 1, 0
    push = PushMessageRequest(to=friend.id, messages=[TextMessage(text="one")])
    api.push_message(push)
    promise("the SDK reads the quota and what is used of it", api.get_message_quota().value == 1
            and api.get_message_quota_consumption().total_usage == 1)
    promise("a push beyond the quota is 429", refused(429, lambda: api.push_message(push)))
    platform.quota = None


def check(platform: Platform, promise) -> None:
    friend = platform.friend("SDK")
    parser = WebhookParser(platform.secret)
    events = all_events(platform, friend)
    body = platform.body(*[event for event, _, _ in events])
    parsed = parser.parse(body.decode(), platform.signature(body))
    promise("the SDK's parser accepts the platform's webhooks, each event by its type",
            [type(it) for it in parsed] == [kind for _, kind, _ in events] and all(
                isinstance(it.message, content) for it, (_, _, content) in zip(parsed, events) if content)
            and all(it.webhook_event_id == event["webhookEventId"] for it, (event, _, _) in zip(parsed, events)))
    try:
        parser.parse(body.decode() + " ", platform.signature(body))
        promise("the SDK refuses a changed body", False)
    except InvalidSignatureError:
        promise("the SDK refuses a changed body", True)
    with ApiClient(Configuration(host=platform.url, access_token=platform.token)) as client:
        api = MessagingApi(client)
        promise("its client reads the bot's name and a profile",
                api.get_bot_info().display_name == "Shop bot" and api.get_profile(friend.id).display_name == "SDK")
        blob = MessagingApiBlob(client)
        check_menus(platform, api, blob, promise)
        check_contents(platform, api, blob, promise)
        push = PushMessageRequest(to=friend.id, messages=[TextMessage(text="one")])
        key = str(uuid.uuid4())
        api.push_message(push, x_line_retry_key=key)
        promise("it pushes, and a repeated retry key is 409 and delivers nothing",
                refused(409, lambda: api.push_message(push, x_line_retry_key=key)) and friend.texts == ["one"])
        token = platform.text(friend, "?")["replyToken"]
        reply = ReplyMessageRequest(reply_token=token, messages=[TextMessage(text="two")])
        api.reply_message(reply)
        promise("it replies once with a reply token",
                refused(400, lambda: api.reply_message(reply)) and friend.texts == ["one", "two"])
        old = platform.text(friend, "?")["replyToken"]
        platform.later += 61
        promise("a reply token of more than a minute is refused", refused(400, lambda: api.reply_message(
            ReplyMessageRequest(reply_token=old, messages=[TextMessage(text="late")]))))
        platform.later -= 61
        promise("a text of more than 5,000 characters is refused", refused(400, lambda: api.push_message(
            PushMessageRequest(to=friend.id, messages=[TextMessage(text="x" * 5_001)]))))
        platform.limited = [1]
        promise("429 is 429", refused(429, lambda: api.push_message(push)))
    with ApiClient(Configuration(host=platform.url, access_token="wrong")) as client:
        promise("a wrong access token is 401", refused(401, lambda: MessagingApi(client).get_bot_info()))


if __name__ == "__main__":
    def say(name: str, holds: bool) -> None:
        print("PASS" if holds else "FAIL", name)
        if not holds:
            raise SystemExit(1)

    check(Platform(0, secrets.token_hex(16), secrets.token_urlsafe(32)), say)
