"""Two prompts: each head alone takes its output from a second prompt; bars show the effect on the prediction."""

# Pairs of prompts with the same number of tokens and different predictions, by model family.
PAIRS = {
    "assignment": (("x=7; y=2; x=?", "x=3; y=2; x=?"),),
    "stories": (("The girl was sad because", "The boy was sad because"),
                ("Lily went to the park with her mom. Then Lily lost",
                 "Tom went to the park with his mom. Then Tom lost")),
    "masked": (("The girl lost [her] toy in the park.", "The boy lost [his] toy in the park."),
               ("Lily was happy because [she] had a new toy.", "Tom was happy because [he] had a new toy.")),
    "translation": (("The cat is sleeping.", "The dog is sleeping."), ("I see a man.", "I see a woman.")),
    "summary": (("The student pilot lost control of the airplane.", "The private pilot lost control of the airplane."),
                ("The airplane struck a deer during the landing roll at night.",
                 "The airplane struck a tree during the landing roll at night.")),
    "dialogue": (("I have a dog.", "I have a cat."),),
}
