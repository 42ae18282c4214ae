"""Components that the browser displays; `mounting.Part` has the content of one.

The only module of app/ that the components import is app.texts.
"""
