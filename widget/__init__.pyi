from widget.widget import HeadsWidget as HeadsWidget
from widget.widget import compare as compare
from widget.widget import show as show
