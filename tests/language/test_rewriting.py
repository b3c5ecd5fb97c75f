"""The sentence rules: what they make, how much of it, and that nothing can make them fall over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensecheck.language import morphology
from sensecheck.language.rewriting.engine import INSERTED, rewrite, rewrites
from sensecheck.language.rewriting.lexicon import english
from sensecheck.language.rewriting.reading import read
from sensecheck.language.rewriting.wordnet import WordNet, find_wordnet

WORDS = [*sorted(english().nouns)[:300:5], "is", "are", "not", "the", "a", "two", "and", "in", "running", ","]
ROOT = Path(__file__).resolve().parent.parent.parent


def texts(sentence: str, positive: bool) -> list[str]:
    return [r.text for r in rewrites(sentence, positive)]


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("A man is eating food.", "A man eats food."),
        ("A man is eating food.", "There is a man eating food."),
        ("A man is eating food.", "Someone is eating food."),
        ("A boy is kicking a ball.", "A ball is being kicked by a boy."),
        ("The girl holds two cups.", "Two cups are held by the girl."),
        ("Two dogs are running.", "2 dogs are running."),
        ("A dog is next to a tree.", "A dog is beside a tree."),
        ("A man and a woman are dancing.", "A woman and a man are dancing."),
        ("The baby is asleep.", "The baby is not awake."),
        ("A woman is running in the park.", "In the park, a woman is running."),
        ("There are no people outside.", "There are not any people outside."),
        ("A man wearing a hat", "A man is wearing a hat."),
        ("A man sits in a café.", "A guy sits in a café."),
        ('A man in a shirt with "HOT" on it is eating.', 'A guy in a shirt with "HOT" on it is eating.'),
        ('A man reads a sign that says "Mt. Hood (50%)".', 'A guy reads a sign that says "Mt. Hood (50%)".'),
        ("A woman with long hair", "A woman has long hair."),
        ("A man with his dog", "A man is with his dog."),
        ("There is a man out on his boat.", "A man is out on his boat."),
    ],
)
def test_what_follows(sentence: str, statement: str) -> None:
    assert statement in texts(sentence, True)


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("A man is eating food.", "A man is not eating food."),
        ("A man is eating food.", "Nobody is eating food."),
        ("A man is eating food.", "A woman is eating food."),
        ("He rides his bike.", "She rides her bike."),
        ("A man is eating food.", "A man is fast asleep."),
        ("Two dogs are running.", "Five dogs are running."),
        ("The man is sitting on a chair.", "The man is standing on a chair."),
        ("The men are tall.", "The men are short."),
        ("The men are tall.", "None of the men are tall."),
        ("The two men are tall.", "Neither of the two men are tall."),
        ("There is a cat on the bed.", "There is no cat on the bed."),
        ("The man is not sleeping.", "The man is sleeping."),
        ("Nobody is here.", "Somebody is here."),
        ("Everyone is happy.", "Nobody is happy."),
        ("A girl wears a red hat.", "A girl wears a blue hat."),
        ("A dog runs.", "A dog does not run."),
        ("A woman is cooking with a dog next to her.", "A man is cooking with a dog next to him."),
        ("A woman is cooking her dinner.", "A man is cooking his dinner."),
        ("The boys are brothers.", "The boys are certainly not brothers."),
        ("A person with hair", "Nobody has hair."),
        ("A woman in a hat and gloves has a dog.", "A woman in a hat and gloves has no dog."),
        ("Some teenagers are holding something.", "No teenagers are holding anything."),
        ("The children are holding something.", "The children are no longer holding anything."),
    ],
)
def test_what_contradicts(sentence: str, statement: str) -> None:
    assert statement in texts(sentence, False)


@pytest.mark.parametrize(
    ("sentence", "positive", "statement"),
    [
        ("The comedian is dressed like a lumberjack.", False, "The comedian is naked like a lumberjack."),
        ("A dancer performs in front of a crowd.", True, "A dancer performs ahead of a crowd."),
        ("A man is alone.", True, "A man is not together."),
        ("Two friends are standing together.", False, "Nobody is standing together."),
        ("A tall person with hair", False, "Nobody is with hair."),
        ("A tall person with hair", True, "A tall person is with hair."),
        ("A man just finished cutting down a tree.", False, "No man just finished is cutting down a tree."),
        ("The players are running at the moment.", True, "The players run at the moment."),
        ("The boys are brothers.", False, "The boys are never brothers."),
    ],
)
def test_what_nobody_would_say(sentence: str, positive: bool, statement: str) -> None:
    assert statement not in texts(sentence, positive)


def test_some_do_and_some_do_not() -> None:
    assert "Some people are not on land." not in texts("Some people are on land.", False)
    assert "Some men are walking." not in texts("Some women are walking.", False)


def test_narrower_words_do_not_widen_under_a_negation() -> None:
    assert not [r for r in rewrites("There is no dog in the park.", True) if r.relation == "follows"]


def test_frames_are_one_in_five() -> None:
    for positive in (True, False):
        chosen = rewrite("The frisbee is orange.", positive, 5)
        assert sum(r.frame for r in chosen) <= 1
        assert sum(r.family in INSERTED for r in chosen) <= 2
        assert len({r.text for r in chosen}) == len(chosen)


@pytest.mark.golden
@pytest.mark.parametrize("positive", [True, False])
def test_enough_statements_for_snli(shared: Path, positive: bool) -> None:
    lines = (shared / "data" / "nli" / "snli_dev_2000.jsonl").read_text().splitlines()
    hypotheses = list(dict.fromkeys(json.loads(line)["hypothesis"] for line in lines))
    made = [rewrite(hypothesis, positive, 5) for hypothesis in hypotheses]
    assert sum(len(m) == 5 for m in made) / len(made) >= 0.85
    assert all(sum(r.frame for r in m) <= 1 for m in made)


@pytest.mark.parametrize(
    ("sentence", "positive", "statement"),
    [
        ("Clara Bell met the mayor of Hillford in 1998, when she was six.", True, "Clara Bell met the mayor of Hillford in 1998."),
        ("Clara Bell met the mayor of Hillford in 1998.", True, "Someone met the mayor of Hillford in 1998."),
        ("Clara Bell met the mayor of Hillford in 1998.", True, "Clara Bell met the mayor of Hillford in the 1990s."),
        ("Clara Bell met the mayor of Hillford in 1998.", False, "Nobody met the mayor of Hillford in 1998."),
        ("However, the bank (a small one) also sold its shares.", True, "The bank sold its shares."),
        ("Hillford, a small town, has 12 schools.", True, "Hillford has at least 12 schools."),
        ("Hillford, a small town, has 12 schools.", False, "Hillford does not have 12 schools."),
        ("The roof was repaired by Clara Bell in May.", True, "Clara Bell repaired the roof in May."),
        ("The roof was repaired by Clara Bell in May.", False, "Nobody repaired the roof in May."),
        ("In 1998, the bakery paid $50,000 for the shop.", False, "The bakery did not pay $50,000 for the shop in 1998."),
        ("The boy didn't find any money in the box.", False, "The boy found some money in the box."),
        ("Clara Bell was born in the U.S.", True, "It was Clara Bell who was born in the U.S."),
        ("Clara never sang in Hillford.", False, "Clara always sang in Hillford."),
        ("At most three buses stop here.", False, "Exactly six buses stop here."),
        ("In 1972, the shop was sold to the town, which closed it.", True, "The shop was sold to the town in 1972, which closed it."),
        ("In 1972, the mayor said that the shop was old.", False, "The mayor did not say in 1972 that the shop was old."),
        ("The mayor might be a baker.", True, "It is possible that the mayor is a baker."),
        ("The Command Center had no knowledge of it.", False, "The Command Center had plenty of knowledge of it."),
        ("There was no supervision.", False, "There was plenty of supervision."),
        ("Well, I mean, the bread was old.", True, "The bread was old."),
        ("You know, they never sang.", False, "They sang."),
        ("There is a reason for it.", False, "There is no longer a reason for it."),
        ("There are old lamps near the park.", False, "There aren't any old lamps near the park."),
        ("Automated sewing machines are expensive.", True, "It is automated sewing machines that are expensive."),
    ],
)  # fmt: skip
def test_sentences_of_reports(sentence: str, positive: bool, statement: str) -> None:
    assert statement in texts(sentence, positive)


@pytest.mark.parametrize(
    ("sentence", "positive", "wrong"),
    [
        ("The shares rose nearly 12 percent.", True, "flower"),  # the noun rose is a flower, the verb is not
        ("He quit football in May.", True, "quit plays"),
        ("Her grandfather left the shop.", True, "Her man"),
        ("She met her husband in Hillford.", True, "her man"),
        ("At most three buses stop here.", False, "At most six"),
        ("Clara would like to hear it in person.", True, "individual"),
        ("It cost $50,000.", True, "$ 50"),
        ("The bridge is no longer closed because of the storm.", True, "The bridge is closed"),
        ("No dog barked in the yard.", True, "No dog barked."),  # nothing is left out under a denial
        ("If it rains, we stay inside.", True, "We stay inside."),
        ("The mayor never spoke in 1998.", True, "never spoke."),
        ("The only bridge was built in 1900.", True, "An only bridge"),
        ("The shop may not open on Monday.", False, "The shop may open"),  # it may, and it may not
        ("Clara saw the end of the war.", True, "is saw"),
        # titles and names keep their capital, or stand first
        ("King of the Harbor was adapted for television.", True, "king of the Harbor"),
        ("King of the Harbor was adapted for television.", True, "omeone was adapted"),
        ("A Quiet Boy was filmed in May.", True, "a Quiet Boy"),
        ("All Rise for Clara was cancelled.", False, "all Rise"),
        ("District 9 is part of Hillford.", True, "district 9"),
        ("The Baker was released in May.", True, "was the Baker"),
        ("January storms move fast.", True, "january"),
        ("Speed of delivery isn't measured.", True, "that Speed"),
        ("Cutlery suppliers have moved.", True, "that Cutlery"),
        ("21 Moons Music is a label.", False, "No Moons"),
        ("Rule 80(2) is old.", True, "Rule 80 is"),
        ('In Bloom (10") was released in the United States.', True, "I"),
        ("Clara is a Latin American singer.", False, "Latin Japanese"),
        # some do, and others do not
        ("Parts of Hillford are still old.", False, "Parts of Hillford are no longer"),
        ("20% of the shops are not open.", False, "20% of the shops are open"),
        ("A lot of cases go unseen.", False, "A lot of cases don't"),
        ("100,000 bakers live here.", False, "100,000 bakers do not"),
        ("Some people can't sing.", False, "Some people are able"),
        ("The soup can be strong.", False, "weak"),
        ("The top two bakers won.", False, "five"),
        ("A 60% rise is better than none.", False, "15%"),
        ("The Hillford Bakers hired Clara.", False, "None of the Hillford Bakers"),
        ("Bell Publishers Ltd was a British company.", False, "Nobody"),
        ("Cutlery suppliers moved to town.", True, "people who"),
        # what is said with it is not so without it
        ("The shops mostly sell bread.", True, "The shops sell bread"),
        ("Generally, the shops are open.", True, "the shops that are open"),
        ("Clara sings whenever she goes on stage.", True, "she goes."),
        ("Clara directed the play based on her book.", True, "based."),
        ("The house was built in ancient times.", True, "in times"),
        ("Clara is a 56 years old singer.", True, "56 years singer"),
        ("It is a film written, directed by, and starring Clara.", True, "film written."),
        ("It is a rock band formed in 2007.", True, "In 2007, it is"),
        ("At 78 m tall, it is the second tower in the city, after the old one, which fell in 2009.", True, "2009 at 78"),
        ("By giving bread, the bakers proved that they can help.", True, "help by giving"),
        ("A habitat means the place where one lives.", True, "There is a habitat"),
        ("There's a reason the baker left.", True, "present"),
        ("No information was given.", False, "Every information"),
        ("They get no help at all.", False, "plenty of help at all"),
        ("No more than two shops opened.", False, "A more than"),
        ("Nobody on board sang.", False, "At least one person sang"),
        ("The rule in town was that you had to sing.", True, "was that was"),
        ("My test results all came back fine.", True, "does is result"),
        ("I quit singing.", False, "don't quit"),
        ("The mayor might be a baker.", True, "will be"),
        ("The film's first hit was Bread.", True, "something that was"),
        ("We only sing because it rains.", True, "since"),
        ("The bakers do not correct their boys.", True, "right"),
        ("The shop became known as Bell.", True, "called"),
        ("It is a man made lake.", True, "guy"),
        ("The park is not for human use.", True, "person use"),
        ("Tennis is one of the sports here.", True, "is Tennis"),
        ("Ordinary French bakers were not there.", True, "Ordinary French bakers who"),
        ("Coupon collecting is no longer allowed.", True, "is Coupon"),
        ("Arabic names are easy to sing.", True, "arabic"),
        ("The Hague is larger than Hillford.", True, "the Hague"),
        ("My Fair Lady was released in May.", True, "omeone's Fair"),
        # what a participle, a speaker or an opening belongs to
        ("Its members included a young drummer.", False, "Nobody included"),
        ("There were only two nurses carried on the plane.", True, "carried were"),
        ("There were only two nurses carried on the plane.", True, "carried that"),
        ("Bell Hall was built in 1900 and has been a school since.", True, "omeone built Bell Hall in 1900 and"),
        ("Thousands of people lived in the old housing project.", True, "are housing"),
        ("In Hillford, the rule is that you have to sing.", True, "something that is that"),
        ("Clara won the Bell Prize in Music.", True, "that Clara won in Music"),
        ("My friend helped me, she said.", True, "helped me."),
        ("Bread could be sold by bakers, he said.", False, "could not"),
        ("Clara directed some 30 plays.", False, "any 30"),
        ("In ten years, we will have a bakery, and bread for every child.", True, "a bakery in ten years, and"),
        ("In Finnish, the name says it according to Clara's husband.", True, "husband in Finnish"),
        ("There are no fountains in the hall at all.", False, "seen in the hall at all"),
        ("There are none at all.", True, "None are at all"),
        ("Walter has lived his whole life in the town.", True, "Walter lived"),
        ("There is a 10 year extension of the rule.", True, "are no"),
        ("Clara's favorite bread is rye.", True, "Clara's bread"),
        ("It is in the southern part of the town.", True, "in the part"),
        ("I have not frobbed the lamp.", False, "do not have"),
        ("Hillford is centrally located to other towns.", True, "is located"),
        ("The shops mostly have bread.", True, "shops mostly that"),
        ("You probably have nothing like it.", False, "you probably who"),
        ("There is no deadline with the mayor.", True, "No deadline is with"),
        ("It is unknown where the dog came from.", False, "famous"),
        ("She might add that the bread is old.", False, "Nobody might"),
        ("The children need to be taken home.", False, "adults need"),
        ("Some people want to sing.", True, "People want"),
        ("Somewhat understanding human thinking.", True, "Somewhat is"),
        ("Rule 80(2) is old.", True, "(two)"),
        ("The bakers are going to sing.", True, "currently going"),
        ("The rent was lower in 1990 than in 1983.", True, "In 1983"),
        ("Help with housing searches, choices and other things is not given.", True, "does search"),
        ("There was no supervision.", False, "a supervision"),
        ("Clara took Ben somewhere.", False, "did not take Ben somewhere"),
        ("Clara took Ben somewhere.", False, "didn't take Ben somewhere"),
        ("I find it cheaper to keep an older car.", True, "vehicle"),
        ("I opened five shops in May.", False, "two shops"),
        ("Clara Bell and Ben Ray play bakers.", True, "plays bakers"),
        ("My sister has never sung any songs.", False, "always sung any"),
        ("The green lamp painted everything around them after the rain had stopped.", True, "rain that had"),
        ("Some pupils gave between $25 and $49 last year.", False, "don't last"),
        ("They did not know what had happened to the shop.", True, "had took"),
        ("The bank never came and joined.", True, "come and joined"),
        ("They sing often because it rains.", False, "sing never"),
        ("Merchants measure out and sell grain.", False, "measures out and sell"),
        ("I drove home, took a bath, changed clothes and went back.", False, "clothes."),
        ("The town gives much support for legal delivery.", True, "for delivery"),
        ("We can take it with us.", True, "with us who"),
        ("We can take it with us.", True, "There are people who"),
        ("After the mayor arrived, he was told that it rained.", True, "he was told after"),
        ("Arabic words and names are easy to sing.", True, "Names and Arabic"),
        ("We are going to stay at the shop.", True, "seen going"),
        ("Misuse of bread is bad.", True, "that Misuse"),
        ("Yeah, you go ahead, okay.", False, "you do"),
        ("Some pupils never sing.", True, "Pupils never"),
        ("A child is outdoors.", True, "A child is a person"),
        ("The lake is just below 129 acres.", True, "below at least"),
        ("Its members included a young drummer.", True, "Some members"),
        ("He is selling bread in a hotel.", True, "He sells"),
        ("The film King of the Harbor has won.", False, "queen"),
        ("Children can sing.", False, "Adults"),
        ("You could see the lake.", True, "As for you"),
        ("Your songs are so calming.", False, "No songs"),
        ("On cool days, I wear a shirt to the shop.", True, "I has"),
        ("The shop made sure all the bread baked there was sold.", False, "was not the shop made sure"),
        ("Gates tore down his house.", False, "gates that"),
        ("The people plan to sing on the beach.", True, "On the beach, the people plan"),
        ("We are burning down the hall.", True, "We can be seen"),
        ("The lamps simply can't be seen to any degree.", True, "simply that"),
        ("The lion refused to eat him.", False, "accepted"),
        ("This song is old and points have been made.", True, "points have been made is"),
        ("Logs show the meeting included a baker.", True, "display"),
        ("I haven't ever been to Hillford.", True, "do not have ever"),
        ("No one was left behind, no animal either.", False, "person was left behind, no"),
        ("Even though the book is old, I like it.", True, "Even although"),
        ("The word can be translated as 'lucky'.", True, "' lucky"),
        ("You won't' be saving a life.", True, "'be"),
        ("Clara Bell also visited in 1983.", True, "It was Clara Bell who"),
        ("Men attend school at a late age.", False, "Women"),
        ("They are certain they sang when they were young.", True, "When they were young"),
        ("The corners of her mouth tightened and her brow rose.", False, "mouth that"),
        ("Slower growth was seen.", True, "that Slower"),
        ("The mayor might possibly be a baker.", True, "certainly possibly"),
        ("The castle still stands in Hillford today.", False, "never stands"),
        ("It was the right shop.", True, "a right"),
        ("The bakers often pay high dues.", True, "are paying"),
        ("Bakers are left with increasing prices or getting less.", False, "decreasing"),
        ("There are numerous bakers running.", False, "umerous bakers have"),
        ("The lamps are rough at night.", False, "smooth"),
        ("a player slam dunking the ball", True, "player slam that"),
        ("The meaning of several of the words is old.", True, "of of"),
        ("PLease don't send bread.", True, "PLease sends"),
        ("Trust is never important for bakers.", False, "not Trust"),
        ("There are 25,000 bakers at the fair.", False, "any 25,000"),
        ("The papers contained on Form A and Form B were approved.", False, "contain on"),
        ("The papers on Form A and Form B were old.", True, "Form An"),
        ("Flat-bottomed boats are old.", True, "that Flat"),
        ("Emissaries of Clara Bell signed it.", True, "was Emissaries"),
        ("No one in the room ever sang before.", False, "person in the room ever"),
        ("Three Mills Wall is a bridge.", True, "3 Mills"),
        ("There was not more than one song on it.", False, "a more than"),
        ("There is a bench in the park.", False, "rooftop"),
        ("The bakers make sure they all sing.", True, "can be seen"),
        ("A high-tech town is much like a dream.", True, "There is a high-tech"),
        ("Many before you have sung at the school.", True, "A lot of before"),
        ("Many before you have sung at the school.", False, "No before"),
        ("The mayor knows what happens to it.", True, "takes place to"),
        ("There is nothing there.", True, "Nothing there is"),
        ("The FBI started quickly checking the shop after Clara was born.", False, "after Clara wasn't"),
        ("You and I are asking for bread.", True, "You and I is"),
        ("The song is loved by pupils outside of school.", False, "inside of"),
        ("You can walk to Hillford in an hour.", True, "You are someone"),
        ("Your gift to the school will be a frog.", True, "There is something"),
        ("There was a decrease of 700 feet in the height.", False, "was not in the height"),
        ("My kid will sing.", True, "A kid"),
        ("We were the safest at night when no one walked by.", False, "not we who"),
        ("There would be a party if bakers sang.", True, "certainly"),
        ("Hillford was highly regarded.", True, "was regarded."),
        ("Pupils very much enjoy singing in the school.", True, "enjoy is"),
        ("A group is at the county fair.", False, "unfair"),
        ("Clara helped reform a group of bakers.", True, "assisted reform"),
        ("Neither rye nor wheat would be good.", True, "fact, Neither"),
        ("Bakers feel that things such as bread, rye, and salt cannot be sold.", False, "feels that things."),
        ("The nun thought that by baking bread, it would help them.", True, "baking bread."),
        ("Three boys having a water fight inside.", True, "are fighting"),
        ("They read it as meaning 'wants' rather than 'lacks'.", True, "' lacks"),
        ("There are 5 similar cases of it.", False, "dissimilar"),
        ("There is a sequal to the movie.", True, "can be seen"),
        ("Fox ended The Bell in May.", True, "fox did"),
        ("The Vow is a drama of 2002.", True, "the Vow"),
        ("He sings under the name The Bell.", True, "beneath"),
        ("The rooms are dull and boring.", False, "dull and interesting"),
        ("Ben Ray wrote everything in longhand.", True, "wrote everything."),
        ("Fans was released in 2008.", True, "was fans"),
        ("Aircrafts can't be sold by anyone.", True, "is Aircrafts"),
        ("Bakers have never hurt anyone.", False, "often hurt anyone"),
        ("On his birthday, Ben Ray announced he will be a baker.", True, "baker on his"),
        ("There are some uncertainties around the rule.", True, "can be seen"),
        ("Ben Ray has a son.", True, "possession"),
        ("It was first made available in May.", False, "unavailable"),
        ("Picture eating bread compared to rye.", True, "picture eating"),
        ("Managed care had nothing to do with it.", True, "that Managed"),
        ("The men looked strong.", False, "refused to look"),
        ("15% is for bakers.", False, "No%"),
        ("If you sing, bakers will know that it rains.", False, "know if"),
        ("The rooms are dull, everything is made from paper, and there is no bread.", True, "paper."),
        ("I had many many fans.", True, "of many"),
        ("You may not use the money.", True, "in fact not"),
        ("Mr Palomar was the last work written by Ben Ray.", True, "who"),
        ("They took songs from one town to sing in their own.", True, "to sing."),
        ("Mrs. Bell bought the flowers herself.", True, "The flowers herself"),
        ("Mrs. Bell bought the flowers herself.", True, "herself that"),
        ("Ben Ray won the Bell Prize in Music in 1998.", True, "Prize was won"),
        ("At least ten bakers were hurt.", False, "At least ten bakers were not"),
        ("Many visitors buy a ticket.", False, "sell"),
        ("The family comes from Greece.", False, "refusing"),
        ("The tourists come from Japan.", False, "no longer coming"),
        ("I guess we could go there.", False, "don't guess"),
        ("The firm said it would cut at least 500 jobs.", True, "250"),
        ("The shop runs on Sundays.", True, "moves"),
        ("All guests survived the crash except the pilot.", True, "Some guests"),
        ("All guests survived the crash except the pilot.", False, "died the crash"),
        ("The team lost its third game.", True, "someone who"),
        ("The team lost its third game.", False, "Nobody lost its"),
        ("Nearly 60 percent of the bakers sing.", True, "that Nearly"),
        ("More than one baker sang.", False, "exactly 0"),
        ("Every village has a church.", False, "never has"),
    ],
)  # fmt: skip
def test_what_reports_do_not_say(sentence: str, positive: bool, wrong: str) -> None:
    assert not [text for text in texts(sentence, positive) if wrong in text]


@pytest.mark.parametrize(
    "text", ["Did the bus stop?", "The bus stopped, didn't it", "Please close the door.", "Close the door.",
             "Turn left at the lights.", "Look left before crossing."]
)  # fmt: skip
def test_what_is_asked_has_no_statements(text: str) -> None:
    assert rewrites(text, True) == rewrites(text, False) == []


def test_a_name_is_no_common_word() -> None:
    assert "It is French bread that is cheap." in texts("French bread is cheap.", True)
    assert "It is old Trafford" not in " ".join(texts("Old Trafford is a stadium.", True))


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_survived(text: str) -> None:
    for positive in (True, False):
        for made in rewrite(text, positive, 5):
            assert made.text.strip()


@given(
    st.lists(
        st.sampled_from(WORDS),
        max_size=20,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_row_of_words_is_survived(words: list[str]) -> None:
    for positive in (True, False):
        assert len(rewrite(" ".join(words), positive, 5)) <= 5


@pytest.mark.parametrize("text", ["A man rides and", "The boss left but", "The pilot is old and he"])
def test_a_second_sentence_may_break_off(text: str) -> None:
    for positive in (True, False):
        assert all(made.text for made in rewrite(text, positive))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("A woman sits on the ground outside, near three bags.", "A woman sits on the ground outside."),
        ("Four men stare at it, in the park.", "In the park, four men stare at it."),
    ],
)
def test_no_comma_is_left_at_the_end(text: str, statement: str) -> None:
    found = texts(text, True)
    assert statement in found
    assert not any(made.endswith(",.") for made in found)


def test_a_not_may_stand_apart() -> None:
    assert texts("Two men did n't saw wood.", True) == texts("Two men didn't saw wood.", True)
    assert not any("  " in made for made in texts("Two who men n't sawing wood.", True))


def test_a_long_text_takes_no_time() -> None:
    assert rewrite("a man " * 20_000, True, 5) is not None


def test_reading() -> None:
    lexicon = english()
    assert read("A dog jumping through hoops.", lexicon).kind == "progressive"
    assert read("A group of people stand still.", lexicon).plural
    assert read("Is it raining?", lexicon).kind == "unreadable"
    clause = read("The man with the hat isn't running fast.", lexicon)
    assert (clause.kind, clause.verb, clause.negated, clause.head) == ("progressive", "run", True, "man")


def test_morphology() -> None:
    assert [morphology.ing_form(v) for v in ("run", "ride", "lie", "picnic", "play", "begin")] == [
        "running", "riding", "lying", "picnicking", "playing", "beginning",
    ]  # fmt: skip
    assert [morphology.plural(n) for n in ("child", "box", "city", "boy")] == ["children", "boxes", "cities", "boys"]
    assert [morphology.indefinite_article(w) for w in ("hour", "unicycle", "apple", "umbrella", "one-eyed")] == [
        "an", "a", "an", "an", "a",
    ]  # fmt: skip


def test_wordnet_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in WordNet's own form: a licence, an index, and synsets found by their offset."""
    licence = "  1 This is the licence text  \n"
    for part in ("noun", "verb", "adv"):
        (tmp_path / f"index.{part}").write_text(licence)
        (tmp_path / f"data.{part}").write_text(licence)
    first = "{:08d} 00 a 02 big 0 large 0 001 ! {:08d} a 0101 | great\n"
    second = "{:08d} 00 a 01 small 0 001 ! {:08d} a 0101 | not great\n"
    starts = [len(licence), len(licence) + len(first.format(0, 0))]
    data = licence + first.format(*starts) + second.format(*reversed(starts))
    (tmp_path / "data.adj").write_text(data)
    entries = [f"{word} a 1 1 ! 1 1 {starts[k]:08d}  \n" for word, k in (("big", 0), ("large", 0), ("small", 1))]
    (tmp_path / "index.adj").write_text(licence + "".join(entries))
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    found = find_wordnet()
    assert isinstance(found, WordNet)
    assert found.synonyms("big", "adj") == ["large"]
    assert found.opposites("big", "adj") == ["small"]
    assert found.opposites("large", "adj") == []
    assert found.synonyms("unheard", "adj") == []


def test_wordnet_widens_the_rules(tmp_path: Path) -> None:
    from sensecheck.language.rewriting.lexicon import load

    class Known(WordNet):
        def synonyms(self, word: str, part: str) -> list[str]:
            return {("trombone", "noun"): ["slide horn"]}.get((word, part), [])

        def wider(self, word: str, part: str) -> list[str]:
            return {("trombone", "noun"): ["brass"]}.get((word, part), [])

        def opposites(self, word: str, part: str) -> list[str]:
            return {("proud", "adj"): ["humble"]}.get((word, part), [])

    text = (ROOT / "src/sensecheck/language/rewriting/english.txt").read_text()
    lexicon = load(text, Known(tmp_path))
    assert "A man plays a slide horn." in [r.text for r in rewrites("A man plays a trombone.", True, lexicon)]
    assert "A man plays a brass." in [r.text for r in rewrites("A man plays a trombone.", True, lexicon)]
    assert "The man is humble." in [r.text for r in rewrites("The man is proud.", False, lexicon)]
