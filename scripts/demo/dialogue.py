"""The information desk of Larkhaven: questions, good answers grouped by what they mean, and two systems'
answers.

Every family below is a situation at the desk: three ways to ask, groups of good answers (answers in one
group mean the same, answers in two groups do not), and what the two systems make of it. Each is played
three times, with other stations, lines and museums, whose facts come from world.py.

- A is fluent and safe: it has one idea for a situation and says it again with other small words, and one
  polite phrase for everything;
- B has one answer for nearly every group, in words of its own, and now and then something beside the point.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass

import world

ROUNDS = 3
HYPOTHESES = 5
POLITE = "i am sorry , please ask one of my colleagues at the desk ."


@dataclass(frozen=True)
class Family:
    ask: tuple[str, str, str]
    groups: tuple[tuple[str, ...], ...]
    a: tuple[str, ...]  # A's one idea, said a few times over
    b: tuple[str, ...]  # B's answers, about one a group


FAMILIES = [
    Family(
        (
            "How do I get to the {museum}?",
            "What is the best way to the {museum} from here?",
            "I need to be at the {museum} in an hour, how do I get there?",
        ),
        (
            (
                "Take the {line} and get off at {near}.",
                "The {line} stops at {near}, that is right next to it.",
                "Get on the {line} and leave it at {near}.",
            ),
            (
                "It is a pleasant walk, just follow the brown signs.",
                "You can walk, it is not far and there are signs all the way.",
                "I would walk, the path is well marked.",
            ),
            (
                "A taxi is quickest, there is a rank outside.",
                "There is a taxi rank outside the door, that is the fastest way.",
            ),
        ),
        (
            "Take the {line} and get off at {near}.",
            "Take the {line} to {near}.",
            "You can take the {line} and get off at {near}.",
        ),
        (
            "Get off the {line} at {near}.",
            "Walk, the signs will lead you there.",
            "A taxi from the rank outside is the quickest.",
            "Do you like boats?",
        ),
    ),
    Family(
        (
            "When does the {museum} open?",
            "What time can I get into the {museum} tomorrow?",
            "Is the {museum} open in the morning?",
        ),
        (
            ("It opens at {opens}.", "The doors open at {opens}.", "From {opens} on, every day it is open."),
            (
                "Tomorrow it stays closed.",
                "It is closed tomorrow, come the day after.",
                "I am afraid it does not open tomorrow.",
            ),
            ("Which day would you like to go?", "That depends on the day, when do you want to visit?"),
        ),
        ("It opens at {opens}.", "It opens at {opens} in the morning.", "The museum opens at {opens}."),
        (
            "Doors open at {opens}.",
            "I am afraid it is closed tomorrow.",
            "On which day do you want to visit?",
            "The shop sells lovely postcards.",
        ),
    ),
    Family(
        (
            "How much is a {ticket}?",
            "What do I pay for a {ticket}?",
            "Could you tell me the price of a {ticket}?",
        ),
        (
            ("It costs {price} crowns.", "That is {price} crowns.", "{price} crowns, please."),
            (
                "Children under six travel free.",
                "For small children you do not need a ticket at all.",
                "If the child is under six it is free.",
            ),
            ("You would save money with a {other}.", "A {other} may be the better deal for you."),
        ),
        (
            "It costs {price} crowns.",
            "A {ticket} costs {price} crowns.",
            "It costs {price} crowns for adults.",
        ),
        (
            "That will be {price} crowns.",
            "Nothing at all for children under six.",
            "Have you thought of a {other}? You would save money.",
        ),
    ),
    Family(
        (
            "Where can I buy a ticket?",
            "Do I get tickets on the {mode}?",
            "There is no machine here, how do I buy a {ticket}?",
        ),
        (
            ("The driver sells them, coins only.", "You can buy one from the driver if you have coins."),
            (
                "There is a machine at {station}.",
                "At {station} there is a ticket machine.",
                "Use the machine at {station}.",
            ),
            (
                "Just use the app on your phone.",
                "You can buy it on your phone with the town app.",
                "The app is easiest.",
            ),
            ("I can sell you one right here.", "You can get it from me, at this desk."),
        ),
        (
            "There is a ticket machine at {station}.",
            "There is a machine at {station}.",
            "You can use the ticket machine at {station}.",
        ),
        (
            "The driver takes coins.",
            "Try the machine at {station}.",
            "Your phone will do, there is an app.",
            "I can sell you one now.",
        ),
    ),
    Family(
        (
            "Is the {line} running late?",
            "Why is the {line} not here yet?",
            "Has something happened on the {line}?",
        ),
        (
            (
                "There is a broken rail near {station}.",
                "They are repairing a rail near {station}.",
                "A rail broke at {station}, they are working on it.",
            ),
            (
                "It should come in about {wait} minutes.",
                "Give it {wait} more minutes.",
                "The next one comes in {wait} minutes.",
            ),
            (
                "No, everything is on time today.",
                "As far as I can see it is on time.",
                "There are no delays that I know of.",
            ),
        ),
        (
            "No, everything is on time.",
            "No, everything is on time today, I think.",
            "Everything is on time today.",
        ),
        (
            "A broken rail at {station} holds it up.",
            "The next one is {wait} minutes away.",
            "On my screen everything is on time.",
        ),
    ),
    Family(
        (
            "Does the {line} stop at {station}?",
            "Can I get to {station} with the {line}?",
            "Am I right on the {line} for {station}?",
        ),
        (
            ("Yes, it does.", "Yes, you are right here.", "It does, just stay on."),
            (
                "No, you have to change.",
                "No, you need another line for that.",
                "Not this one, you must change.",
            ),
            ("Only until eight in the evening.", "During the day it does, but not after eight."),
        ),
        ("Yes, it does.", "Yes, it stops there.", "Yes, it does stop there."),
        (
            "You are right, stay on.",
            "Sorry, you will have to change for that.",
            "It does so by day, but not after eight.",
        ),
    ),
    Family(
        (
            "What is on at the {museum} at the moment?",
            "Is there anything new at the {museum}?",
            "Which exhibition should I see at the {museum}?",
        ),
        (
            (
                "They are showing {show} right now.",
                "At the moment it is {show}.",
                "{show}, and it is worth your time.",
            ),
            (
                "Only the permanent collection, the new show opens next month.",
                "Nothing new until next month, but the permanent collection is fine.",
            ),
            ("Here is the programme, have a look.", "Take this leaflet, it has the whole programme."),
        ),
        (
            "They are showing {show}.",
            "They are showing {show} at the moment.",
            "They are showing {show} at the {museum}.",
        ),
        (
            "You can see {show}.",
            "Just the permanent collection until next month.",
            "Have a look at this programme.",
        ),
    ),
    Family(
        ("Who is {artist}?", "I have never heard of {artist}, who is that?", "Is {artist} a painter?"),
        (
            (
                "An artist from {country}, known for {style}.",
                "{artist} comes from {country} and works in {style}.",
                "Someone from {country} who is known for {style}.",
            ),
            ("You can see the works in {show}.", "Go and see {show}, then you will know."),
            (
                "I have no idea, to be honest.",
                "I do not know, I am sorry.",
                "No idea, art is not my subject.",
            ),
        ),
        ("I do not know.", "I do not know that artist.", "I do not know, sorry."),
        (
            "Somebody from {country} who does {style}.",
            "There are works on view in {show}.",
            "Honestly, no idea.",
        ),
    ),
    Family(
        (
            "Where can I leave my bag?",
            "Can I take this rucksack into the {museum}?",
            "Are there lockers at {station}?",
        ),
        (
            (
                "There are lockers in the entrance hall.",
                "Put it in a locker, they are in the entrance hall.",
                "Use the lockers by the entrance, they take a coin.",
            ),
            ("You may keep it with you if it is small.", "A small bag is fine, just carry it in front."),
            ("Leave it here with me.", "I can keep it for you behind the desk."),
        ),
        (
            "There are lockers at the entrance.",
            "There are lockers in the hall.",
            "There are some lockers at the entrance.",
        ),
        (
            "Lockers are in the hall, they take a coin.",
            "Small bags may go in.",
            "I will keep it here for you.",
            "It closes at six.",
        ),
    ),
    Family(
        (
            "Is there a lift at {station}?",
            "Can I get to the platform at {station} with a wheelchair?",
            "Is {station} step free?",
        ),
        (
            (
                "Yes, there is a lift to both platforms.",
                "Yes, the lift takes you down.",
                "There is a lift next to the kiosk.",
            ),
            (
                "No, but the station before it has one.",
                "Not there, use the next station instead.",
                "I am afraid not, go one stop further.",
            ),
            ("The lift is broken this week.", "There is one, but it is out of order until Friday."),
        ),
        (
            "Yes, there is a lift.",
            "Yes, there is a lift to the platforms.",
            "Yes, there is a lift at {station}.",
        ),
        (
            "A lift goes to both platforms.",
            "Not there, go one stop further.",
            "It is out of order this week.",
        ),
    ),
    Family(
        (
            "Where can I eat something near {station}?",
            "Is there a cafe at the {museum}?",
            "We are hungry, any idea around {station}?",
        ),
        (
            (
                "The museum has a cafe on the first floor.",
                "There is a nice cafe inside the museum.",
                "Try the museum cafe, anyone can go in.",
            ),
            ("Go to the fish stalls at the harbour.", "The stalls by the harbour do good fried fish."),
            ("There is a bakery across the street.", "The bakery over the road has sandwiches."),
            ("Everything is closed at this hour.", "I am afraid nothing is open now."),
        ),
        (
            "There is a cafe inside the museum.",
            "There is a nice cafe in the museum.",
            "There is a cafe in the museum.",
        ),
        (
            "The cafe in the museum is open to all.",
            "Fried fish from the harbour stalls!",
            "Sandwiches from the bakery over the road.",
            "Nothing is open so late.",
        ),
    ),
    Family(
        (
            "Is the {museum} good for children?",
            "Will a five year old like the {museum}?",
            "What can we do with kids at the {museum}?",
        ),
        (
            (
                "Yes, there is a room where they can touch everything.",
                "They will love it, there is a room to play and touch.",
            ),
            ("It may be a bit dull for them.", "Honestly, it is rather quiet, small children get bored."),
            (
                "Go to the {museum2} instead, it is made for families.",
                "The {museum2} is better with children.",
            ),
        ),
        ("Yes, it is good for children.", "Yes, it is very good for children.", "Yes, children like it."),
        (
            "They can touch everything in one of the rooms.",
            "Small ones may get bored.",
            "With a family I would choose the {museum2}.",
        ),
    ),
    Family(
        (
            "When is the last {mode} tonight?",
            "How late does the {line} run?",
            "Can I still get home with the {line} after midnight?",
        ),
        (
            ("The last one leaves at half past eleven.", "Half past eleven is the last departure."),
            ("It runs all night, once an hour.", "All night long, but only once an hour."),
            (
                "After that you take the Night Owl.",
                "The Night Owl takes over at midnight.",
                "Then use the Night Owl from Town Hall.",
            ),
        ),
        (
            "The last one is at half past eleven.",
            "The last one leaves at half past eleven.",
            "The last one tonight is at half past eleven.",
        ),
        ("Half past eleven, then nothing.", "Once an hour, all night.", "The Night Owl will bring you home."),
    ),
    Family(
        (
            "I left my umbrella on the {line}.",
            "I lost my phone on the {line}, what can I do?",
            "My bag is still on the {mode}!",
        ),
        (
            (
                "Ask at the lost property office at {station}.",
                "Lost property is at {station}, try there tomorrow.",
                "Everything found goes to the office at {station}.",
            ),
            (
                "Which one were you on? I will call the driver.",
                "Tell me when you got off and I will ring the driver.",
            ),
            ("Please fill in this form.", "Fill in this form and we will write to you."),
        ),
        ("I am sorry to hear that.", "I am very sorry to hear that.", "Oh, I am sorry to hear that."),
        (
            "It should end up in the office at {station}.",
            "When did you get off? I can ring the driver.",
            "Here is a form to fill in.",
        ),
    ),
    Family(
        (
            "Can I take photographs in the {museum}?",
            "Is it fine to film in the {museum}?",
            "Are cameras allowed at the {museum}?",
        ),
        (
            (
                "Yes, but without flash.",
                "Photographs are fine as long as you use no flash.",
                "You may, just turn off the flash.",
            ),
            (
                "No, not in the special exhibition.",
                "Not in {show}, the lender does not allow it.",
                "No cameras in the special exhibition, please.",
            ),
            ("You need a permit for filming.", "For film you have to ask the office for a permit."),
        ),
        ("Yes, but without a flash.", "Yes, but please use no flash.", "Yes, without flash."),
        (
            "Fine without flash.",
            "In {show} it is forbidden by the lender.",
            "Ask the office for a permit if you film.",
        ),
    ),
    Family(
        (
            "May I bring my dog on the {mode}?",
            "Are dogs allowed on the {line}?",
            "Does my dog need a ticket on the {line}?",
        ),
        (
            ("Yes, on a lead.", "Dogs may ride if they are on a lead.", "Of course, keep him on a lead."),
            (
                "A big dog pays like a child.",
                "Large dogs need a child ticket.",
                "For a big one you buy a child ticket.",
            ),
            ("No dogs in the rush hour.", "Not between seven and nine in the morning."),
        ),
        ("Yes, dogs are allowed.", "Yes, dogs are allowed on board.", "Yes, your dog is allowed."),
        ("On a lead, with pleasure.", "Buy a child ticket if he is large.", "Not in the rush hour, please."),
    ),
    Family(
        (
            "Is the {museum} free on Sundays?",
            "Do students pay less at the {museum}?",
            "Is there a discount at the {museum}?",
        ),
        (
            ("Students pay half.", "With a student card you pay half price.", "Half price for students."),
            ("It is free on the first Sunday of the month.", "On the first Sunday of the month nobody pays."),
            (
                "No, the price is the same for all.",
                "There is no discount, I am afraid.",
                "Sorry, everyone pays the same.",
            ),
        ),
        (
            "Yes, students pay half.",
            "Students pay half price.",
            "Yes, students pay half price.",
        ),
        (
            "Show a student card and pay half.",
            "Free on the first Sunday of each month.",
            "Everyone pays the same, sorry.",
        ),
    ),
    Family(
        (
            "How long does it take to see the {museum}?",
            "Can I do the {museum} in an hour?",
            "Is two hours enough for the {museum}?",
        ),
        (
            ("An hour is enough.", "You can see it all in an hour.", "One hour will do."),
            (
                "Plan at least half a day.",
                "It is big, give it a whole afternoon.",
                "You will want half a day for it.",
            ),
            (
                "There is a short tour of thirty minutes.",
                "If you are in a hurry, take the tour, it is half an hour.",
            ),
        ),
        ("It takes about two hours.", "It takes around two hours.", "It will take about two hours."),
        (
            "One hour covers it.",
            "Keep half a day free.",
            "The short tour lasts thirty minutes.",
            "I went there at school once.",
        ),
    ),
    Family(
        (
            "It is raining, what can we do today?",
            "We have one afternoon in Larkhaven, any advice?",
            "What would you do with a free day here?",
        ),
        (
            (
                "Visit the {museum}, it is dry and warm.",
                "I would go to the {museum}.",
                "The {museum} is the place for a day like this.",
            ),
            (
                "Ride the {line} from end to end.",
                "Take the {line} to the last stop and back, the view is grand.",
            ),
            (
                "Have a long lunch by the harbour.",
                "Sit in a harbour cafe and watch the boats.",
                "Eat at the harbour and take your time.",
            ),
        ),
        ("I would go to a museum.", "You could go to the {museum}.", "I would go to one of the museums."),
        (
            "The {museum} is a good place for that.",
            "Ride the {line} to the end and back.",
            "A long lunch at the harbour!",
        ),
    ),
    Family(
        (
            "Which platform for the {line}?",
            "Where does the {line} leave from?",
            "Where do I wait for the {line}?",
        ),
        (
            ("Platform two, over the bridge.", "It goes from platform two, across the bridge."),
            ("Right here, you are in the right place.", "Just wait here, it stops in front of you."),
            (
                "Look at the board, it changes every day.",
                "The board shows the platform, it is not always the same.",
            ),
        ),
        (
            "It leaves from platform two.",
            "It goes from platform two.",
            "It leaves from platform two today.",
        ),
        (
            "Over the bridge, platform two.",
            "You are in the right place already.",
            "The board will tell you, it changes.",
        ),
    ),
    Family(
        (
            "Can you recommend a hotel near {station}?",
            "Where can we stay tonight?",
            "Do you know a cheap room around {station}?",
        ),
        (
            (
                "The old customs inn is good and cheap.",
                "Try the inn by the customs house, it is not expensive.",
            ),
            (
                "I may not recommend any, but here is a list.",
                "Here is a list of all hotels, I am not allowed to choose.",
            ),
            (
                "Everything is full because of the regatta.",
                "With the regatta on you will find no room in town.",
            ),
        ),
        (
            "There are many hotels in town.",
            "There are many hotels near the station.",
            "There are a lot of hotels in town.",
        ),
        (
            "The inn by the customs house is cheap.",
            "Here is a list, the choice is yours.",
            "The regatta has filled every room.",
        ),
    ),
    Family(
        (
            "Thank you, you have been very kind.",
            "That was a great help, thanks.",
            "Thanks a lot for the map.",
        ),
        (
            ("You are welcome.", "My pleasure.", "Not at all, that is what I am here for."),
            (
                "Enjoy your stay in Larkhaven.",
                "Have a lovely day in our town.",
                "Have a good time at the {museum}.",
            ),
            ("Do not forget your ticket.", "Wait, you forgot your map.", "Take your change, please."),
        ),
        ("You are welcome.", "You are very welcome.", "You are welcome, have a nice day."),
        ("My pleasure.", "Have a good time in our town.", "Do not leave your map behind."),
    ),
]


def tokens(text: str) -> str:
    """Lower case, punctuation apart: the scorers split on white space only."""
    text = re.sub(r"\b1 crowns\b", "1 crown", text)
    return " ".join(re.findall(r"\d+\.\d+|[\w']+|[^\w\s]", text.lower()))


def _facts(rng: random.Random, tables: dict[str, world.Table]) -> dict[str, str]:
    """Fillers that fit together: the line does stop at the museum's station, the show is there."""
    museums, lines = tables["museum"].rows, {row[0]: row for row in tables["line"].rows}
    station_of = {row[1]: row[0] for row in tables["station"].rows}
    calls: dict[str | int | float, list[str | int | float]] = {}
    for line_id, station_id, *_ in tables["stop"].rows:
        calls.setdefault(station_id, []).append(line_id)
    shows = tables["exhibition"].rows
    with_show = [m for m in museums if any(s[2] == m[0] for s in shows)]
    museum = rng.choice(with_show)
    other = rng.choice([m for m in museums if m is not museum])
    line = lines[rng.choice(calls[station_of[museum[4]]])]
    show = rng.choice([s for s in shows if s[2] == museum[0]])
    on_view = [row[1] for row in tables["display"].rows if row[0] == show[0]]
    chosen = rng.choice(on_view)
    artist = next(row for row in tables["artist"].rows if row[0] == chosen)
    ticket, better = rng.sample(tables["ticket"].rows, 2)
    opens = next(row[2] for row in tables["opening_hours"].rows if row[0] == museum[0])
    hours = {9: "nine", 10: "ten", 11: "eleven"}
    return {
        "museum": str(museum[1]),
        "near": str(museum[4]),
        "museum2": str(other[1]),
        "line": str(line[1]),
        "mode": str(line[2]),
        "wait": str(line[5]),
        "show": str(show[1]),
        "artist": str(artist[1]),
        "country": str(artist[2]),
        "style": str(artist[4]),
        "ticket": str(ticket[1]),
        "other": str(better[1]),
        "price": world.literal(float(ticket[3])),
        "opens": hours[int(opens)],
        "station": rng.choice(world.STATION_NAMES),
    }


def build() -> tuple[dict[str, dict[str, list[str]]], list[list[str]], list[list[str]]]:
    rng = random.Random(world.SEED + 4)
    tables = world.build()
    references: dict[str, dict[str, list[str]]] = {}
    said_a: list[list[str]] = []
    said_b: list[list[str]] = []
    for turn in range(ROUNDS):
        for at, family in enumerate(FAMILIES):
            facts = _facts(rng, tables)
            query = tokens(family.ask[turn].format(**facts))
            assert query not in references
            references[query] = {
                str(n): [tokens(ref.format(**facts)) for ref in group] for n, group in enumerate(family.groups, 1)
            }
            # A repeats itself to fill its five answers, and closes politely on every third question.
            a = [family.a[i % len(family.a)] for i in range(HYPOTHESES)]
            if (at + turn) % 3 == 0:
                a[-1] = POLITE
            # B puts its ideas in any order, and every other time one does not come to its mind.
            b = rng.sample(family.b, len(family.b) - (at + turn) % 2)
            said_a.append([tokens(line.format(**facts)) for line in a])
            said_b.append([tokens(line.format(**facts)) for line in b])
    return references, said_a, said_b


def files() -> dict[str, str]:
    references, a, b = build()
    return {
        "dialogue_refs.json": json.dumps(references, indent=1, ensure_ascii=False) + "\n",
        "dialogue_a.txt": "".join(" </s> ".join(lines) + "\n" for lines in a),
        "dialogue_b.txt": "".join(" </s> ".join(lines) + "\n" for lines in b),
    }
