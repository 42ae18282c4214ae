"""Small models that are trained in seconds, with an attention type and a plan that hold from the first step.

    learning = learning.learn("lookup", attention="softmax", plan=HeadPlan().constant("self", 0, 1))
    for moment in learning: moment.step, moment.loss, moment.accuracy, moment.trace
    lab = learning.lab

`attention_lab.learn` is the public name. The package is not called `learn`, because inside the wheel it would be the
attribute `attention_lab.learn`, which is this function.
"""
