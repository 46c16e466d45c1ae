"""Checks the platform of telegram_platform.py with a client library, python-telegram-bot: its types read what the
platform sends, without a member that they do not know, and its client calls the platform. It also checks what the
gateway calls: each method and each member is one of the library's.
"""

import asyncio
import copy
import inspect
import re

from telegram import (
    Bot, InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity, TelegramObject, Update,
)
from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter
from telegram_platform import BLOCKED, Person, Platform

FILE = {"file_id": "f", "file_unique_id": "u"}
SIZE = FILE | {"width": 90, "height": 60}
TYPES = {"entities": MessageEntity, "reply_markup": InlineKeyboardMarkup, "link_preview_options": LinkPreviewOptions}


class Unknown(Exception):
    pass


def read(kind: type, value: dict) -> None:
    """Every member must be one that the library knows, with a value that it keeps."""
    parsed = kind.de_json(copy.deepcopy(value), None)
    if (unknown := list(unknown_members(parsed))) or not is_kept(value, parsed.to_dict()):
        raise Unknown(f"the library reads {value} as {parsed}, and does not know {unknown}")


def unknown_members(value):
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from unknown_members(each)
    if isinstance(value, TelegramObject):
        yield from value.api_kwargs
        for name in (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())):
            if not name.startswith("_"):
                yield from unknown_members(getattr(value, name, None))


def is_kept(value, parsed) -> bool:
    """The library adds members that are false."""
    if isinstance(value, dict):
        return all(name in parsed and is_kept(it, parsed[name]) for name, it in value.items())
    if isinstance(value, list):
        return len(value) == len(parsed) and all(map(is_kept, value, parsed))
    return value == parsed


def check_update(update: dict) -> None:
    read(Update, update)


def check_call(method: str, members: dict) -> None:
    name = re.sub("[A-Z]", lambda it: "_" + it.group().lower(), method)
    unknown = set(members) - set(inspect.signature(getattr(Bot, name)).parameters)
    if unknown:
        raise Unknown(f"{method} has no {unknown}")
    for name, kind in TYPES.items():
        values = members.get(name, [])
        for value in values if isinstance(values, list) else [values]:
            read(kind, value)


def all_kinds(platform: Platform, person: Person) -> list[tuple[dict, str]]:
    """A message of each kind, with its line in the log."""
    message = platform.message
    location = {"latitude": 13.72, "longitude": 100.53}
    sticker = FILE | {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
    clip = SIZE | {"duration": 7}
    return [
        (platform.text(person, "สวัสดี 🎉"), "สวัสดี 🎉"),
        (message(person, text="bold", entities=[{"type": "bold", "offset": 0, "length": 4}]), "bold"),
        (message(person, sticker=sticker | {"emoji": "😀"}), "[sticker: 😀]"),
        (message(person, photo=[SIZE], caption="my cat"), "[image]\nmy cat"),
        (message(person, video=clip), "[video]"),
        (message(person, animation=clip, document=FILE | {"file_name": "a.mp4"}), "[video]"),
        (message(person, voice=FILE | {"duration": 7}), "[audio]"),
        (message(person, document=FILE | {"file_name": "bill.pdf"}), "[file: bill.pdf]"),
        (message(person, location=location), "[location: 13.72, 100.53]"),
        (message(person, location=location, venue={"location": location, "title": "Shop", "address": "1 Silom Rd"}),
         "[location: Shop, 1 Silom Rd, 13.72, 100.53]"),
        (message(person, contact={"phone_number": "+662", "first_name": "Ada", "last_name": "L"}),
         "[contact: Ada L +662]"),
    ]


async def calls(platform: Platform, person: Person, promise) -> None:
    async with Bot(platform.token, base_url=platform.url + "/bot") as bot:
        chat = await bot.get_chat(person.id)
        promise("the library's client reads the bot's name and a chat",
                bot.username == "shop_bot" and (chat.first_name, chat.last_name) == ("Library", "Suksan"))
        keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="v=yes"),
                                          InlineKeyboardButton("Shop", url="https://shop.example/")]])
        sent = await bot.send_message(person.id, "one", reply_markup=keyboard,
                                      link_preview_options=LinkPreviewOptions(url="https://shop.example/7.png"),
                                      entities=[MessageEntity("bold", 0, 3)])
        promise("it sends a text with a keyboard, and reads the answer as a message",
                sent.text == "one" and sent.reply_markup == keyboard and person.texts == ["one"])
        photo = await bot.send_photo(person.id, "https://shop.example/7.png")
        promise("and a photo by its URL", len(photo.photo) == 1)
        update = Update.de_json(platform.tap(person, person.came[0], "v=yes"), bot)
        promise("it reads a tap, and answers it", update.callback_query.message.text == "one"
                and await update.callback_query.answer() and platform.answered == [update.callback_query.id])

        async def refused(kind: type, words: str, *arguments, **more) -> bool:
            try:
                await bot.send_message(*arguments, **more)
            except kind as fault:
                return words in str(fault)
            return False

        promise("a text of more than 4,096 characters is refused",
                await refused(BadRequest, "too long", person.id, "x" * 4_097))
        promise("so are data of more than 64 bytes, other links, and unknown chats", await refused(
            BadRequest, "Button_data_invalid", person.id, "x", reply_markup=InlineKeyboardMarkup(
                [[InlineKeyboardButton("x", callback_data="x" * 65)]]))
            and await refused(BadRequest, "Button_url_invalid", person.id, "x", reply_markup=InlineKeyboardMarkup(
                [[InlineKeyboardButton("x", url="tel:+66")]]))
            and await refused(BadRequest, "Chat not found", 7, "x"))
        person.has_blocked = True
        promise("a person who has blocked the bot is Forbidden", await refused(Forbidden, BLOCKED, person.id, "x"))
        person.has_blocked = False
        person.refusals = [(429, "Too Many Requests: retry after 7", {"retry_after": 7})]
        try:
            await bot.send_message(person.id, "x")
            promise("429 is RetryAfter", False)
        except RetryAfter as fault:
            promise("429 is RetryAfter, with its seconds", int(fault._retry_after.total_seconds()) == 7)
    for wrong in (platform.token[:-1] + ("a" if platform.token[-1] != "a" else "b"), platform.token[:-1]):
        try:
            await Bot(wrong, base_url=platform.url + "/bot").get_me()
            promise("a wrong token is refused", False)
        except InvalidToken:
            promise("a wrong token is refused, and one of a wrong form")


async def set_webhook(platform: Platform, url: str, secret: str) -> None:
    async with Bot(platform.token, base_url=platform.url + "/bot") as bot:
        await bot.set_webhook(url, secret_token=secret, allowed_updates=["message", "callback_query", "my_chat_member"])


def check(platform: Platform, promise) -> None:
    person = platform.person("Library")
    kinds = [update for update, _ in all_kinds(platform, person)]
    kinds += [platform.message(person, "edited_message", text="x", edit_date=7),
              platform.member(person, "member", "kicked"), platform.member(person, "kicked", "member")]
    for update in kinds:
        check_update(update)
    promise("the library reads all kinds of updates, and every member of them")
    platform.check_update, platform.check_call = check_update, check_call
    asyncio.run(calls(platform, person, promise))


if __name__ == "__main__":
    def say(name: str, holds=True) -> None:
        print("PASS" if holds else "FAIL", name)
        if not holds:
            raise SystemExit(1)

    check(Platform(0), say)
