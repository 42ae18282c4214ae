"""Statistical charts: each function takes data and returns an altair chart or a plotly figure, without Streamlit.

    chart = figures.learning_curves(points, title="Loss")
    figures.save(chart, "loss.svg", title="Learning curves")          # .svg, .png, .html, .csv or .json

The first function that needs altair or plotly imports it. Colours and dashes of models come from ModelInfo.
`figures.theme` defines the light, dark and print themes, which share assets/colours.json with the app.
"""

from models import lazy

__getattr__, __dir__, __all__ = lazy.names_of(__name__, __file__)
