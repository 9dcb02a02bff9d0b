/** The address of the source repository, for edit links and links to sources. Replace it when the repository is public. */
export const repository = "https://example.com/postern";
export const branch = "main";
