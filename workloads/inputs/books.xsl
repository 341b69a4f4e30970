<?xml version="1.0"?>
<!-- SPDX-License-Identifier: MIT -->
<!-- Sorts, filters, groups by a key and computes over a catalogue. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="text"/>
  <xsl:key name="by-year" match="book" use="@year"/>
  <xsl:template match="/catalogue">
    <xsl:value-of select="concat(count(book), ' ', format-number(sum(book/price), '0.00'), '&#10;')"/>
    <xsl:for-each select="book[generate-id() = generate-id(key('by-year', @year)[1])]">
      <xsl:sort select="@year" data-type="number"/>
      <xsl:value-of select="concat(@year, ' ', count(key('by-year', @year)), ' ')"/>
      <xsl:for-each select="key('by-year', @year)">
        <xsl:sort select="price" data-type="number" order="descending"/>
        <xsl:if test="position() &lt;= 2">
          <xsl:value-of select="concat(translate(title, 'abcdef', 'ABCDEF'), ' ', price, '; ')"/>
        </xsl:if>
      </xsl:for-each>
      <xsl:text>&#10;</xsl:text>
    </xsl:for-each>
  </xsl:template>
</xsl:stylesheet>
