"""Components that the browser displays, one function per component.

The only module of app/ that the components import is app.texts.
"""
