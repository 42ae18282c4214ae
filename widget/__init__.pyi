from widget.widget import HeadsWidget as HeadsWidget, compare as compare, show as show
