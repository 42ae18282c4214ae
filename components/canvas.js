// Pixels and letters onto a canvas.

/** The font of .streamlit/config.toml, for letters of `size` px. */
lab.font = size =>
  `${size}px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans SC', 'PingFang SC', ` +
  "'Microsoft YaHei', sans-serif";

/** Paints a matrix into a canvas, one pixel a cell; `step` as lab.pixels takes it. */
lab.paint = (canvas, rows, columns, table, step) => {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(columns, rows);
  new Uint32Array(image.data.buffer).set(lab.pixels(rows, columns, table, step));
  context.putImageData(image, 0, 0);
};
